// Measuring with and without batching, in the same run.
#include "examples/support/measure.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/core.h>

namespace dynet_like::examples {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 1.5, kShareOfTraining = 0.1;
constexpr int kLeastRuns = 3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The fastest of several runs: what disturbs a run only makes it slower.
struct Fastest {
  double seconds = 1e9, kernel_seconds = 0;
  Report report;
};

Fastest fastest_run(batching::Policy policy, std::span<const std::uint32_t> samples,
                    double most_seconds,
                    const std::function<void(Minibatch&, std::uint32_t)>& add_sample) {
  GraphOptions options;
  options.policy = policy;
  options.measure_time = true;
  Random random(1);  // for dropout
  options.random = &random;
  Minibatch minibatch(options);
  Fastest fastest;
  const Clock::time_point begin = Clock::now();
  for (int run = 0; run < kLeastRuns || seconds_since(begin) < most_seconds; ++run) {
    const Clock::time_point start = Clock::now();
    minibatch.clear();
    for (const std::uint32_t sample : samples) add_sample(minibatch, sample);
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

BatchingGain measure_batching(std::span<const std::uint32_t> samples, double training_seconds,
                              const std::function<void(Minibatch&, std::uint32_t)>& add_sample) {
  const double seconds = std::min(kMostSeconds, kShareOfTraining * training_seconds);
  const Fastest batched = fastest_run(batching::Policy::automatic, samples, seconds, add_sample);
  const Fastest unbatched = fastest_run(batching::Policy::none, samples, seconds, add_sample);
  const auto count = static_cast<double>(samples.size());
  return {count / batched.seconds, count / unbatched.seconds, batched.report.nodes,
          batched.report.batches,  batched.report.bound,      host_ns(batched),
          host_ns(unbatched)};
}

std::string to_table(const BatchingGain& gain, const std::string& unit) {
  return fmt::format(
      "{:24}{:>12}{:>12}\n"
      "{:24}{:>12.0f}{:>12.0f}\n"
      "{:24}{:>12}{:>12}\n"
      "{:24}{:>12.0f}{:>12.0f}\n"
      "{} nodes in a minibatch; no schedule needs fewer than {} batches\n",
      "training, one thread", "batched", "one by one",                //
      unit + "/s", gain.samples_per_s, gain.samples_per_s_unbatched,  //
      "batches", gain.batches, gain.nodes,                            //
      "host time, ns per node", gain.host_ns_per_node, gain.host_ns_per_node_unbatched, gain.nodes,
      gain.bound);
}

}  // namespace dynet_like::examples
