// The list of rows, and the measured loop: record, forward, backward, update.
#include "bench/support/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace dynet_like::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

using batching::Policy;

constexpr unsigned kBatchOfPolicies = 64;

void add_rows(Row row, std::vector<Row>& rows) {
  for (unsigned batch : {1u, 16u, 64u, 256u}) {
    for (unsigned threads : {1u, 2u}) {
      row.batch = batch;
      row.threads = threads;
      row.policy = row.form == "single" ? Policy::none : Policy::automatic;
      rows.push_back(row);
    }
  }
  if (row.form == "single") return;
  row.batch = kBatchOfPolicies;
  row.threads = 1;
  for (Policy policy : {Policy::none, Policy::depth, Policy::agenda, Policy::descent}) {
    if (policy == Policy::none && row.form == "ops") continue;  // that is "single"
    row.policy = policy;
    rows.push_back(row);
  }
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

Form form_of(const Row& row) {
  if (row.form == "steps") return Form::steps;
  return row.form == "fused" ? Form::fused : Form::ops;
}

// A model in training or inference, which runs one minibatch after the other.
class Run {
 public:
  explicit Run(const Row& row)
      : row_(row),
        workload_(make_model(row.model, row.hidden, form_of(row))),
        trainer_(workload_->parameters(), learning_rate(row.batch)) {}

  // Runs one minibatch. Returns the seconds that it took in all, for recording and for the update.
  // Counts the device's work, if a counter is given.
  struct Times {
    double all = 0, record = 0, update = 0;
  };
  Times step(Minibatch& batch, PhaseCounts* counts = nullptr) {
    Times times;
    const Clock::time_point begin = Clock::now();
    batch.clear();
    const Clock::time_point recording = Clock::now();
    batch.add_losses(row_.batch, [&](ComputationGraph& graph, std::size_t i) {
      return workload_->loss(graph, (next_ + i) % workload_->size());
    });
    for (unsigned i = 0; i < row_.batch; ++i)
      words_ += workload_->words(next_++ % workload_->size());
    times.record = seconds_since(recording);
    loss_ = static_cast<double>(batch.forward()) / row_.batch;
    if (++steps_ == kWarmUp) early_loss_ = loss_;
    if (counts != nullptr) counts->end(Phase::forward);
    if (row_.train) {
      const Gradients& gradients = batch.backward();
      if (counts != nullptr) counts->end(Phase::backward);
      const Clock::time_point updating = Clock::now();
      trainer_.update(gradients);
      if (counts != nullptr) counts->end(Phase::update);
      times.update = seconds_since(updating);
    }
    times.all = seconds_since(begin);
    return times;
  }

  // Waits until the device has finished all work.
  void finish() const {
    float value = 0;
    default_device()->read(&value, workload_->parameters().storages()[0]->values.data(),
                           sizeof(value));
  }

  double words() const { return static_cast<double>(words_); }
  double loss() const { return loss_; }
  double early_loss() const { return early_loss_; }
  const ParameterCollection& parameters() const { return workload_->parameters(); }
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
  int steps_ = 0;
  double loss_ = 0, early_loss_ = 0;
};

double words_per_second(Run& run, const Row& row, double seconds, Result& result) {
  Minibatch batch(options_of(row, false));
  for (int i = 0; i < kWarmUp; ++i) run.step(batch);
  const double before = run.words();
  run.finish();
  double time = run_for(seconds, result, [&] { run.step(batch); });
  const Clock::time_point end = Clock::now();
  run.finish();
  time += seconds_since(end);
  return (run.words() - before) / time;
}

// Measures where the time goes, and the device's work. Returns the floating-point operations of
// products per word.
double flops_per_word(Run& run, const Row& row, double seconds, Result& result) {
  Minibatch batch(options_of(row, true));
  DeviceWork& device = result.device;
  device.host_seconds = std::numeric_limits<double>::infinity();
  const auto take_host_time = [&](const Run::Times& times) {
    const double host = times.record + batch.explain().plan_seconds;
    device.host_seconds = std::min(device.host_seconds, host);
  };
  for (int i = 0; i < kWarmUp; ++i) take_host_time(run.step(batch));
  default_device()->measure_busy_time(true);
  PhaseCounts counts(*default_device());
  const double before = run.words();
  double time = 0, record = 0, plan = 0, kernels = 0, update = 0, flops = 0, minibatches = 0;
  do {
    const Run::Times times = run.step(batch, &counts);
    take_host_time(times);
    const Report report = batch.explain();
    time += times.all;
    record += times.record;
    update += times.update;
    plan += report.plan_seconds;
    kernels += report.kernel_seconds;
    flops += report.product_flops * (row.train ? 3 : 1);
    result.nodes += static_cast<double>(report.nodes);
    result.batches += static_cast<double>(report.batches);
    result.bound += static_cast<double>(report.bound);
    result.kernel_calls += static_cast<double>(report.kernel_calls);
    for (const Report::Type& type : report.types) {
      device.value_bytes += static_cast<double>(type.value_bytes);
    }
    device.gradient_bytes += static_cast<double>(report.gradient_bytes);
    ++minibatches;
  } while (time < seconds);
  run.finish();
  const double outside = time - kernels - update;
  result.record_ns = record / result.nodes * 1e9;
  result.plan_ns = plan / result.nodes * 1e9;
  result.rest_ns = (outside - record - plan) / result.nodes * 1e9;
  result.outside_share = outside / time;
  for (double* count : {&result.nodes, &result.batches, &result.bound, &result.kernel_calls,
                        &device.value_bytes, &device.gradient_bytes}) {
    *count /= minibatches;
  }
  device.minibatches = minibatches;
  device.forward = counts.of(Phase::forward);
  device.backward = counts.of(Phase::backward);
  device.update = counts.of(Phase::update);
  device.busy_seconds = default_device()->counts().busy_seconds / minibatches;
  default_device()->measure_busy_time(false);
  device.forward_flops = flops / (row.train ? 3 : 1) / minibatches;
  for (const auto& storage : run.parameters().storages()) {
    if (!storage->is_table) device.weight_bytes += static_cast<double>(storage->values.size());
  }
  return flops / (run.words() - before);
}

}  // namespace

std::string Row::name() const {
  return fmt::format("{}/h{}/b{}/{}/{}/{}/t{}", model, hidden, batch, train ? "train" : "infer",
                     form, batching::name_of(policy), threads);
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const ModelKind& kind : all_models()) {
    for (unsigned hidden : kind.sizes) {
      for (const std::string form : {"fused", "ops", "steps", "single"}) {
        if (form == "steps" && !kind.has_steps) continue;
        for (bool train : {true, false}) {
          Row row;
          row.model = kind.name;
          row.hidden = hidden;
          row.train = train;
          row.form = form;
          add_rows(row, rows);
        }
      }
    }
  }
  return rows;
}

double CpuShare::operator()() const {
  return static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC / seconds_since(begin_);
}

Result measure(const Row& row, double seconds) {
  Run run(row);
  Result result;
  const bool emulated = default_device()->name() == "cuda-host";
  double speed = emulated ? 0 : words_per_second(run, row, seconds, result);
  const CpuShare cpu_share;
  const auto begin = Clock::now();
  const double flops = flops_per_word(run, row, seconds / 4, result);
  if (emulated) {
    speed = run.words() / seconds_since(begin);
    result.cpu_share = cpu_share();
  }
  result.gflops = speed * flops / 1e9;
  result.instances_per_s = speed / run.words_per_instance();
  result.loss = run.loss();
  result.early_loss = run.early_loss();
  return result;
}

Result median(std::vector<Result> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Result& a, const Result& b) { return a.instances_per_s < b.instances_per_s; });
  return runs[(runs.size() - 1) / 2];
}

}  // namespace dynet_like::bench
