// What DyNet's interface costs: models written against it, beside the same models without it.
#include <vector>

#include <dynet/training.h>

#include "bench/dynet_style/models.h"
#include "bench/support/table.h"

namespace {

using namespace dynet_like::bench;

constexpr const char* kAbout =
    "Trains models that are written op by op against DyNet's headers (FORM dynet), with all\n"
    "samples of a minibatch in one graph, and the same models against the library's own (FORM\n"
    "ops, as in throughput): same data, same operations, gradient descent without clipping.\n"
    "\n"
    "  dynet_style --runs 5 --json rows.json";

struct ModelOfBoth {
  const char* name;
  unsigned hidden;
};
constexpr ModelOfBoth kModels[] = {
    {"tree_lstm", 128}, {"tagger", 50}, {"tagger", 256}, {"char_tagger", 128}};

std::vector<Row> rows_of_both() {
  std::vector<Row> rows;
  for (const ModelOfBoth& model : kModels) {
    for (const unsigned batch : {1u, 16u, 64u}) {
      for (const char* form : {"ops", "dynet"}) {
        rows.push_back({model.name, model.hidden, batch, true, form});
      }
    }
  }
  return rows;
}

Result measure_dynet(const Row& row, double seconds) {
  const std::unique_ptr<DyNetModel> workload = make_dynet_model(row.model, row.hidden);
  dynet::SimpleSGDTrainer trainer(workload->model, learning_rate(row.batch));
  trainer.clipping_enabled = false;
  double all_words = 0, words = 0;
  for (std::size_t i = 0; i < workload->size(); ++i) {
    all_words += static_cast<double>(workload->words(i));
  }
  Result result;
  std::size_t next = 0;
  const auto step = [&] {
    dynet::ComputationGraph cg;
    std::vector<dynet::Expression> losses;
    for (unsigned i = 0; i < row.batch; ++i, ++next) {
      losses.push_back(workload->loss(cg, next % workload->size()));
      words += static_cast<double>(workload->words(next % workload->size()));
    }
    const dynet::Expression loss = dynet::sum(losses);
    result.loss = static_cast<double>(as_scalar(cg.forward(loss))) / row.batch;
    cg.backward(loss);
    trainer.update();
  };
  for (int i = 0; i < 3; ++i) step();
  words = 0;
  const double time = run_for(seconds, result, step);
  result.instances_per_s = words / time / (all_words / static_cast<double>(workload->size()));
  return result;
}

Result measure_either(const Row& row, double seconds) {
  return row.form == "dynet" ? measure_dynet(row, seconds) : measure(row, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return run_table(argc, argv, {"dynet_style", kAbout, rows_of_both(), "", measure_either});
}
