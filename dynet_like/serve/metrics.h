// Counts of a server, as text for Prometheus.
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

/// Counts how many numbers are at most as large as each of some limits.
class Histogram {
 public:
  explicit Histogram(std::vector<double> limits);
  void add(double number);
  /// The histogram in Prometheus' text format 0.0.4.
  std::string text(std::string_view name, std::string_view help) const;

 private:
  std::vector<double> limits_;         ///< increasing
  std::vector<std::uint64_t> counts_;  ///< numbers up to each limit and above the one before; last,
                                       ///< above all limits
  double sum_ = 0;
};

/// The counts of a server. All members may be called from any thread.
class Metrics {
 public:
  Metrics();
  void count_request();
  void count_answer(unsigned status);
  /// A client that had gone before its request ran, or one that was too slow.
  void count_vanished();
  void count_slow();
  void add_latency(std::chrono::duration<double> seconds);
  /// A number of requests whose values were computed together.
  void add_batch(std::size_t requests);
  std::string text(std::size_t queue_length, std::size_t connections) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t requests_ = 0, vanished_ = 0, slow_ = 0;
  std::map<unsigned, std::uint64_t> answers_;  ///< by status
  Histogram latency_, batches_;
};

}  // namespace dynet_like::serve
