// The cost of DyNet's interface: models written for it, and the same models without it.
#include <vector>

#include <dynet/training.h>

#include "bench/dynet_style/models.h"
#include "bench/support/table.h"

namespace {

using namespace dynet_like::bench;

constexpr const char* kAbout =
    "Trains and runs models that are written for DyNet's headers (FORM dynet), with all\n"
    "samples of a minibatch in one graph, and the same models for the library's own (FORM\n"
    "ops, as in throughput): same data, same operations, gradient descent without clipping. They\n"
    "are written gate by gate, except tagger_with_builders, which has DyNet's VanillaLSTMBuilder.\n"
    "\n"
    "FORM held runs one sample at a time: programs for DyNet that have pointers to the memory of\n"
    "all parameters, and may write to it at any time.\n"
    "\n"
    "The columns are those of throughput. FORM dynet and held measure no parts of a step: record,\n"
    "plan and rest are 0.\n"
    "\n"
    "  dynet_style --runs 5 --json rows.json\n"
    "  dynet_style --filter 'tree_lstm_own_forget/.*/dynet' --mode train\n"
    "\n"
    "bench/cell_tables.py compares them with figures of DyNet itself.";

std::vector<Row> rows_of_both() {
  std::vector<Row> rows;
  for (const DyNetModelKind& kind : all_dynet_models()) {
    for (const unsigned hidden : kind.sizes) {
      for (const unsigned batch : {1u, 16u, 64u, 256u}) {
        for (const bool train : {true, false}) {
          if (kind.op_by_op) rows.push_back({kind.name, hidden, batch, train, "ops"});
          rows.push_back({kind.name, hidden, batch, train, "dynet"});
          if (batch == 1) rows.push_back({kind.name, hidden, batch, train, "held"});
        }
      }
    }
  }
  return rows;
}

/// A program for DyNet, with one graph per minibatch.
class DyNetRun {
 public:
  explicit DyNetRun(const Row& row)
      : row_(row),
        workload_(dynet_model(row.model).make(row.hidden)),
        trainer_(workload_->model, learning_rate(row.batch)) {
    trainer_.clipping_enabled = false;
    if (row.form == "held") workload_->model.get_parameter_storages();
  }

  /// Runs the next minibatch. If `report` is given, describes the run there.
  void step(dynet_like::Report* report = nullptr) {
    dynet::ComputationGraph cg;
    std::vector<dynet::Expression> losses;
    for (unsigned i = 0; i < row_.batch; ++i, ++next_) {
      losses.push_back(workload_->loss(cg, next_ % workload_->size()));
      words_ += static_cast<double>(workload_->words(next_ % workload_->size()));
    }
    const dynet::Expression loss = dynet::sum(losses);
    loss_ = static_cast<double>(as_scalar(cg.forward(loss))) / row_.batch;
    if (row_.train) {
      cg.backward(loss);
      trainer_.update();
    }
    if (report != nullptr) *report = cg.explain();
  }

  double words() const { return words_; }
  double loss() const { return loss_; }
  double words_per_instance() const {
    double words = 0;
    for (std::size_t i = 0; i < workload_->size(); ++i) {
      words += static_cast<double>(workload_->words(i));
    }
    return words / static_cast<double>(workload_->size());
  }

 private:
  const Row& row_;
  std::unique_ptr<DyNetModel> workload_;
  dynet::SimpleSGDTrainer trainer_;
  std::size_t next_ = 0;
  double words_ = 0, loss_ = 0;
};

/// Counts the work of an average minibatch. Returns the floating-point operations of products per
/// word.
double count(DyNetRun& run, const Row& row, double seconds, Result& result) {
  const double before = run.words();
  double minibatches = 0, flops = 0;
  Result unused;
  run_for(seconds, unused, [&] {
    dynet_like::Report report;
    run.step(&report);
    flops += report.product_flops * (row.train ? 3 : 1);
    result.nodes += static_cast<double>(report.nodes);
    result.batches += static_cast<double>(report.batches);
    result.bound += static_cast<double>(report.bound);
    result.kernel_calls += static_cast<double>(report.kernel_calls);
    ++minibatches;
  });
  for (double* sum : {&result.nodes, &result.batches, &result.bound, &result.kernel_calls}) {
    *sum /= minibatches;
  }
  return flops / (run.words() - before);
}

Result measure_dynet(const Row& row, double seconds) {
  DyNetRun run(row);
  Result result;
  for (int i = 0; i < 3; ++i) run.step();
  const double before = run.words();
  const double time = run_for(seconds, result, [&] { run.step(); });
  const double speed = (run.words() - before) / time;
  result.gflops = speed * count(run, row, seconds / 4, result) / 1e9;
  result.instances_per_s = speed / run.words_per_instance();
  result.loss = run.loss();
  return result;
}

Result measure_either(const Row& row, double seconds) {
  return row.form == "ops" ? measure(row, seconds) : measure_dynet(row, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_table(argc, argv, {"dynet_style", kAbout, rows_of_both(), "/b64/", measure_either});
}
