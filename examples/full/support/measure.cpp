// Measures with and without batching, in the same run.
#include "examples/full/support/measure.h"

#include <algorithm>
#include <chrono>

namespace dynet_like::examples {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 1.5, kShareOfTraining = 0.1;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The fastest of several runs: disturbances only make a run slower.
struct Fastest {
  double seconds = 1e9;
  Report report;
};

Fastest fastest_run(batching::Policy policy, std::size_t count, double most_seconds,
                    const Minibatch::RecordSample& loss_of) {
  GraphOptions options;
  options.policy = policy;
  Minibatch minibatch(options);
  Fastest fastest;
  const Clock::time_point begin = Clock::now();
  for (int run = 0; run < kLeastRuns || seconds_since(begin) < most_seconds; ++run) {
    const Clock::time_point start = Clock::now();
    minibatch.clear();
    minibatch.add_losses(count, loss_of);
    minibatch.forward();
    minibatch.backward();
    const double seconds = seconds_since(start);
    if (seconds < fastest.seconds) fastest = {seconds, minibatch.explain()};
  }
  return fastest;
}

}  // namespace

nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of) {
  const auto count = std::min<std::size_t>(options.whole("batch-size"), samples);
  const double seconds = std::min(kMostSeconds, kShareOfTraining * progress.seconds);
  const Fastest batched = fastest_run(batching::Policy::automatic, count, seconds, loss_of);
  const Fastest unbatched = fastest_run(batching::Policy::none, count, seconds, loss_of);
  const double fast = static_cast<double>(count) / batched.seconds;
  const double slow = static_cast<double>(count) / unbatched.seconds;
  const Report& report = batched.report;
  fmt::print(
      "\n{:24}{:>12}{:>12}\n"
      "{:24}{:>12.0f}{:>12.0f}\n"
      "{:24}{:>12}{:>12}\n"
      "{} nodes in a minibatch; no schedule needs fewer than {} batches\n",
      "training, one thread", "batched", "one by one",  //
      "samples/s", fast, slow,                          //
      "batches", report.batches, report.nodes, report.nodes, report.bound);
  if (options.has("explain")) fmt::print("{}\n", fmt::streamed(report));
  return {{speed, fast},
          {speed + "_unbatched", slow},
          {"batches", report.batches},
          {"bound", report.bound}};
}

}  // namespace dynet_like::examples
