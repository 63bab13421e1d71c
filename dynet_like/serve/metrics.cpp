// Counters and histograms of a server.
#include "dynet_like/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dynet_like::serve {

namespace {

std::string head(std::string_view name, std::string_view help, std::string_view kind) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
}

std::string one(std::string_view name, std::string_view help, std::string_view kind,
                std::uint64_t number) {
  return head(name, help, kind) + fmt::format("{} {}\n", name, number);
}

}  // namespace

Histogram::Histogram(std::vector<double> limits)
    : limits_(std::move(limits)), counts_(limits_.size() + 1) {}

void Histogram::add(double number) {
  const auto limit = std::lower_bound(limits_.begin(), limits_.end(), number);
  ++counts_[static_cast<std::size_t>(limit - limits_.begin())];
  sum_ += number;
}

std::string Histogram::text(std::string_view name, std::string_view help) const {
  std::string text = head(name, help, "histogram");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    count += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, limits_[i], count);
  }
  count += counts_.back();
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                            count, sum_);
}

Metrics::Metrics()
    : latency_({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}),
      batches_({1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {}

void Metrics::count_request() {
  const std::lock_guard lock(mutex_);
  ++requests_;
}

void Metrics::count_answer(unsigned status) {
  const std::lock_guard lock(mutex_);
  ++answers_[status];
}

void Metrics::count_vanished() {
  const std::lock_guard lock(mutex_);
  ++vanished_;
}

void Metrics::count_slow() {
  const std::lock_guard lock(mutex_);
  ++slow_;
}

void Metrics::add_latency(std::chrono::duration<double> seconds) {
  const std::lock_guard lock(mutex_);
  latency_.add(seconds.count());
}

void Metrics::add_batch(std::size_t requests) {
  const std::lock_guard lock(mutex_);
  batches_.add(static_cast<double>(requests));
}

std::string Metrics::text(std::size_t queue_length, std::size_t connections) const {
  const std::lock_guard lock(mutex_);
  const auto answers = [&](unsigned status) {
    const auto found = answers_.find(status);
    return found == answers_.end() ? 0 : found->second;
  };
  std::string text =
      one("dynet_like_requests_total", "Requests for the handler", "counter", requests_) +
      one("dynet_like_rejected_total", "Answers 503: too much to do, or stopping", "counter",
          answers(503)) +
      one("dynet_like_deadline_exceeded_total", "Answers 504: waited too long", "counter",
          answers(504)) +
      one("dynet_like_vanished_total", "Clients gone before their request ran", "counter",
          vanished_) +
      one("dynet_like_slow_clients_total", "Connections cut off by the timeout", "counter", slow_) +
      one("dynet_like_queue_length", "Requests that wait to be run", "gauge", queue_length) +
      one("dynet_like_connections", "Open connections", "gauge", connections) +
      head("dynet_like_answers_total", "Answers by status", "counter");
  for (const auto& [status, count] : answers_) {
    text += fmt::format("dynet_like_answers_total{{code=\"{}\"}} {}\n", status, count);
  }
  return text +
         batches_.text("dynet_like_batch_size", "Requests whose values were computed together") +
         latency_.text("dynet_like_latency_seconds", "From a request's last byte to its answer");
}

}  // namespace dynet_like::serve
