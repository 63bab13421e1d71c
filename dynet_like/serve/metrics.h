// What a server counts, as text for Prometheus.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::serve {

/// How many numbers are at most as large as each of some limits.
class Histogram {
 public:
  explicit Histogram(std::vector<double> limits);
  void add(double number);
  /// In Prometheus' text format 0.0.4.
  std::string text(std::string_view name, std::string_view help) const;

 private:
  std::vector<double> limits_;         ///< increasing
  std::vector<std::uint64_t> counts_;  ///< up to each limit and above the one before; above all
  double sum_ = 0;
};

/// For any number of threads.
class Metrics {
 public:
  Metrics();
  void count_request();
  void count_answer(unsigned status);
  /// A client that had gone before its request ran, or was too slow.
  void count_vanished();
  void count_slow();
  void add_latency(std::chrono::duration<double> seconds);
  /// Requests whose values were computed together.
  void add_batch(std::size_t requests);
  std::string text(std::size_t queue_length, std::size_t connections) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t requests_ = 0, vanished_ = 0, slow_ = 0;
  std::map<unsigned, std::uint64_t> answers_;  ///< by status
  Histogram latency_, batches_;
};

}  // namespace dynet_like::serve
