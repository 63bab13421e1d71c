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

/// One way to write the model: its training in batches and one by one.
struct Ways {
  Fastest batched, one_by_one;
};

Ways measure(std::size_t count, double most_seconds, const Minibatch::RecordSample& loss_of) {
  return {fastest_run(batching::Policy::automatic, count, most_seconds, loss_of),
          fastest_run(batching::Policy::none, count, most_seconds, loss_of)};
}

void print_row(const char* title, double batched, double one_by_one) {
  fmt::print("{:32}{:>12.0f}{:>12.0f}\n", title, batched, one_by_one);
}

}  // namespace

nlohmann::json measure_batching(const Options& options, const nn::TrainingProgress& progress,
                                std::size_t samples, const std::string& speed,
                                const Minibatch::RecordSample& loss_of,
                                const Minibatch::RecordSample* nodes_of) {
  const auto count = std::min<std::size_t>(options.whole("batch-size"), samples);
  const double seconds = std::min(kMostSeconds, kShareOfTraining * progress.seconds);
  nlohmann::json report;
  const auto show = [&](const std::string& name, const Ways& ways, const std::string& what) {
    const auto number = static_cast<double>(count);
    report[name] = number / ways.batched.seconds;
    report[name + "_unbatched"] = number / ways.one_by_one.seconds;
    print_row(("samples/s" + what).c_str(), report[name], report[name + "_unbatched"]);
    const Report& of = ways.batched.report;
    print_row(("batches" + what).c_str(), static_cast<double>(of.batches),
              static_cast<double>(of.nodes));
  };
  fmt::print("\n{:32}{:>12}{:>12}\n", "training, one thread", "batched", "one by one");
  if (nodes_of != nullptr) {
    show(speed + "_nodes", measure(count, seconds, *nodes_of), ", node by node");
  }
  const Ways ways = measure(count, seconds, loss_of);
  show(speed, ways, nodes_of == nullptr ? "" : ", as a recursion");
  const Report& batched = ways.batched.report;
  fmt::print("{} nodes in a minibatch; no schedule needs fewer than {} batches\n", batched.nodes,
             batched.bound);
  if (options.has("explain")) fmt::print("{}\n", fmt::streamed(batched));
  report["batches"] = batched.batches;
  report["bound"] = batched.bound;
  return report;
}

}  // namespace dynet_like::examples
