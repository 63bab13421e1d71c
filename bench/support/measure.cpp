// The loop that is measured: record, forward, backward, update.
#include "bench/support/measure.h"

#include <algorithm>
#include <chrono>

namespace dynet_like::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr int kWarmUp = 3;  // minibatches

GraphOptions options_of(const Row& row, bool timed) {
  GraphOptions options;
  options.policy = row.policy;
  options.threads = row.threads;
  options.inference = !row.train;
  options.measure_time = timed;
  return options;
}

// A model in training or in use: takes one minibatch after the other.
class Run {
 public:
  explicit Run(const Row& row)
      : row_(row),
        workload_(make_model(row.model, row.hidden, row.form == "fused" ? Form::fused : Form::ops)),
        trainer_(workload_->parameters(), learning_rate(row.batch)) {}

  // One minibatch; returns the seconds that recording and the update took.
  struct Times {
    double record = 0, update = 0;
  };
  Times step(Minibatch& batch) {
    Times times;
    batch.clear();
    const Clock::time_point recording = Clock::now();
    batch.add_losses(row_.batch, [&](ComputationGraph& graph, std::size_t i) {
      return workload_->loss(graph, (next_ + i) % workload_->size());
    });
    for (unsigned i = 0; i < row_.batch; ++i)
      words_ += workload_->words(next_++ % workload_->size());
    times.record = seconds_since(recording);
    loss_ = static_cast<double>(batch.forward()) / row_.batch;
    if (row_.train) {
      const Gradients& gradients = batch.backward();
      const Clock::time_point updating = Clock::now();
      trainer_.update(gradients);
      times.update = seconds_since(updating);
    }
    return times;
  }

  double words() const { return static_cast<double>(words_); }
  double loss() const { return loss_; }
  double words_per_instance() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < workload_->size(); ++i) sum += workload_->words(i);
    return static_cast<double>(sum) / static_cast<double>(workload_->size());
  }

 private:
  const Row& row_;
  std::unique_ptr<Workload> workload_;
  SimpleSGDTrainer trainer_;
  std::size_t next_ = 0, words_ = 0;
  double loss_ = 0;
};

double words_per_second(Run& run, const Row& row, double seconds, Result& result) {
  Minibatch batch(options_of(row, false));
  for (int i = 0; i < kWarmUp; ++i) run.step(batch);
  const double before = run.words();
  const double time = run_for(seconds, result, [&] { run.step(batch); });
  return (run.words() - before) / time;
}

// Where the time goes; returns the floating-point operations of the products per word.
double flops_per_word(Run& run, const Row& row, double seconds, Result& result) {
  Minibatch batch(options_of(row, true));
  for (int i = 0; i < kWarmUp; ++i) run.step(batch);
  const double before = run.words();
  double time = 0, record = 0, plan = 0, kernels = 0, update = 0, flops = 0, minibatches = 0;
  do {
    const Clock::time_point begin = Clock::now();
    const Run::Times times = run.step(batch);
    time += seconds_since(begin);
    const Report report = batch.explain();
    record += times.record;
    update += times.update;
    plan += report.plan_seconds;
    kernels += report.kernel_seconds;
    flops += report.product_flops * (row.train ? 3 : 1);
    result.nodes += static_cast<double>(report.nodes);
    result.batches += static_cast<double>(report.batches);
    result.bound += static_cast<double>(report.bound);
    result.kernel_calls += static_cast<double>(report.kernel_calls);
    ++minibatches;
  } while (time < seconds);
  const double outside = time - kernels - update;
  result.record_ns = record / result.nodes * 1e9;
  result.plan_ns = plan / result.nodes * 1e9;
  result.rest_ns = (outside - record - plan) / result.nodes * 1e9;
  result.outside_share = outside / time;
  for (double* count : {&result.nodes, &result.batches, &result.bound, &result.kernel_calls}) {
    *count /= minibatches;
  }
  return flops / (run.words() - before);
}

}  // namespace

double CpuShare::operator()() const {
  return static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC / seconds_since(begin_);
}

Result measure(const Row& row, double seconds) {
  Run run(row);
  Result result;
  const double speed = words_per_second(run, row, seconds, result);
  result.gflops = speed * flops_per_word(run, row, seconds / 4, result) / 1e9;
  result.instances_per_s = speed / run.words_per_instance();
  result.loss = run.loss();
  return result;
}

Result median(std::vector<Result> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Result& a, const Result& b) { return a.instances_per_s < b.instances_per_s; });
  return runs[(runs.size() - 1) / 2];
}

}  // namespace dynet_like::bench
