// The rows that bench/throughput measures, and how it measures one.
#pragma once

#include <chrono>
#include <ctime>

#include "batching/policy.h"
#include "bench/models/models.h"
#include "bench/support/device_work.h"

namespace dynet_like::bench {

/// A model and how it is run.
struct Row {
  std::string model;
  unsigned hidden = 0, batch = 0;
  bool train = false;
  /// "fused": with the layers of nn/; "ops": op by op; "steps": the same, each step a cell(f);
  /// "single": op by op, without batching.
  std::string form;
  batching::Policy policy = batching::Policy::automatic;
  unsigned threads = 1;

  /// For example "tree_lstm/h128/b64/train/fused/auto/t1".
  std::string name() const;
};

/// All rows: every model and form for several sizes of minibatches, in training and inference, with
/// one and two threads; for minibatches of 64, with every policy.
std::vector<Row> all_rows();

/// The result of a run of a row. Counts are per minibatch, times per node (a kernel's item).
struct Result {
  /// Words per second, divided by the mean number of words per instance: so a run that happens to
  /// get long sentences is not slower.
  double instances_per_s = 0;
  /// Processor time of all threads, divided by wall-clock time. If a row with one thread has less
  /// than 1, other programs used its core: then instances per second of processor time are the
  /// better figure.
  double cpu_share = 1;
  double gflops = 0;       ///< of the matrix products
  double peak_gflops = 0;  ///< of fused multiply-adds on one core, if it was measured
  double record_ns = 0, plan_ns = 0, rest_ns = 0;
  double outside_share = 0;  ///< of the time, neither in kernels nor in the trainer
  double nodes = 0, batches = 0, bound = 0, kernel_calls = 0;
  double loss = 0;  ///< per instance, of the last minibatch
  /// Of the third one, so in training after two updates: the same however long a row runs.
  double early_loss = 0;
  DeviceWork device;  ///< if the device is not the CPU
};

/// The learning rate of gradient descent. Losses are summed, so it falls with the size of the
/// minibatch. With a rate that makes training diverge, the measured numbers would be untypical.
inline float learning_rate(unsigned batch) { return 0.01f / static_cast<float>(batch); }

/// The processor time of all threads since construction, divided by wall-clock time.
class CpuShare {
 public:
  double operator()() const;

 private:
  std::clock_t cpu_ = std::clock();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Calls step() for so many seconds, at least once. Returns the seconds that it took.
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

/// Runs minibatches for `seconds`, with no clock but the one at the end; then for a quarter of that
/// with clocks, which show where the time goes. For an emulated device, whose speed does not
/// matter, only the latter.
Result measure(const Row& row, double seconds);

/// The run with the median speed; of an even number of runs, the slower of the middle two.
Result median(std::vector<Result> runs);

}  // namespace dynet_like::bench
