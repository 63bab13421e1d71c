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
  double seconds = 1e9, kernel_seconds = 0;
  Report report;
};

Fastest fastest_run(batching::Policy policy, std::size_t count, double most_seconds,
                    const Minibatch::RecordSample& loss_of) {
  GraphOptions options;
  options.policy = policy;
  options.measure_time = true;
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
    if (seconds >= fastest.seconds) continue;
    fastest.seconds = seconds;
    fastest.report = minibatch.explain();
  }
  return fastest;
}

double host_ns(const Fastest& run) {
  const double nodes = static_cast<double>(std::max<std::uint64_t>(run.report.nodes, 1));
  return 1e9 * (run.seconds - run.report.kernel_seconds) / nodes;
}

}  // namespace

nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of) {
  const auto count = std::min<std::size_t>(options.whole("batch-size"), samples);
  const double seconds = std::min(kMostSeconds, kShareOfTraining * progress.seconds);
  const Fastest batched = fastest_run(batching::Policy::automatic, count, seconds, loss_of);
  const Fastest unbatched = fastest_run(batching::Policy::none, count, seconds, loss_of);
  const auto per_second = [&](const Fastest& fastest) {
    return static_cast<double>(count) / fastest.seconds;
  };
  const Report& report = batched.report;
  fmt::print(
      "\n{:24}{:>12}{:>12}\n"
      "{:24}{:>12.0f}{:>12.0f}\n"
      "{:24}{:>12}{:>12}\n"
      "{:24}{:>12.0f}{:>12.0f}\n"
      "{} nodes in a minibatch; no schedule needs fewer than {} batches\n",
      "training, one thread", "batched", "one by one",          //
      "samples/s", per_second(batched), per_second(unbatched),  //
      "batches", report.batches, report.nodes,                  //
      "host time, ns per node", host_ns(batched), host_ns(unbatched), report.nodes, report.bound);
  if (options.has("explain")) fmt::print("{}\n", fmt::streamed(report));
  return {{speed, per_second(batched)},
          {speed + "_unbatched", per_second(unbatched)},
          {"batches", report.batches},
          {"bound", report.bound},
          {"host_ns_per_node", host_ns(batched)}};
}

}  // namespace dynet_like::examples
