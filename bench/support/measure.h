// Measures one row of bench/throughput.
#pragma once

#include <chrono>
#include <ctime>

#include "bench/support/device_work.h"
#include "bench/support/rows.h"

namespace dynet_like::bench {

/// What a run of a row shows. Counts are per minibatch, times per node (a kernel's item).
struct Result {
  /// Words per second divided by the mean number of words of an instance: a run that happens to
  /// meet long sentences is not slower.
  double instances_per_s = 0;
  /// Processor time per time, of all threads. A row of one thread that has less than 1 shared its
  /// core with other programs; its instances per second of processor time are the better figure.
  double cpu_share = 1;
  double gflops = 0;  ///< of the matrix products
  double record_ns = 0, plan_ns = 0, rest_ns = 0;
  double outside_share = 0;  ///< of the time, neither in kernels nor in the trainer
  double nodes = 0, batches = 0, bound = 0, kernel_calls = 0;
  double loss = 0;    ///< per instance, of the last minibatch
  DeviceWork device;  ///< if it is not the CPU
};

/// Of gradient descent. Losses are summed, so that it falls with the minibatch; one that makes
/// training diverge would measure numbers that no user has.
inline float learning_rate(unsigned batch) { return 0.01f / static_cast<float>(batch); }

/// Tells the processor time, of all threads, since it was made, as a share of the time.
class CpuShare {
 public:
  double operator()() const;

 private:
  std::clock_t cpu_ = std::clock();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Calls step() for that long, at least once, and tells the seconds that it took.
template <class Step>
double run_for(double seconds, Result& result, const Step& step) {
  const auto begin = std::chrono::steady_clock::now();
  const CpuShare cpu_share;
  double time = 0;
  do {
    step();
    time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  } while (time < seconds);
  result.cpu_share = cpu_share();
  return time;
}

/// Runs minibatches for that long, without any clock but the one at the end; and then for a quarter
/// of it with clocks, which tell where the time goes. Where a device is emulated, its speed is of
/// no interest: then there are those with clocks alone.
Result measure(const Row& row, double seconds);

/// The run of median speed, of an even number the slower one.
Result median(std::vector<Result> runs);

}  // namespace dynet_like::bench
