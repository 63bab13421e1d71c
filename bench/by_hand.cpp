// How long some models take without a library: the yardstick for recording, planning and batching.
#include "bench/by_hand/model.h"
#include "bench/support/table.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/device.h"

namespace {

using namespace dynet_like::bench;

constexpr const char* kAbout =
    "Two models of bench/throughput, same data and same weights, as programs for these models\n"
    "alone: no graphs, no recording, no planner; the library's kernels are called directly. The\n"
    "nodes of trees are sorted by height, and sentences by length, so that each height, and each\n"
    "step of an LSTM, is one call.\n"
    "\n"
    "The columns are those of throughput; there is nothing to record or to plan, nodes are cells\n"
    "(of sentences: words) and batches are heights (of sentences: steps of LSTMs). To compare it\n"
    "with the library:\n"
    "\n"
    "  by_hand --json by_hand.json\n"
    "  throughput --filter '^(tree_lstm|tagger)/.*/b64/.*/fused/auto/t1' --json ours.json\n"
    "  compare.py by_hand.json ours.json --without form,policy";

std::vector<Row> rows_by_hand() {
  std::vector<Row> rows;
  for (const ModelKind& kind : all_models()) {
    const std::string name = kind.name;
    if (name != "tree_lstm" && name != "tagger") continue;
    for (unsigned hidden : kind.sizes) {
      for (bool train : {true, false}) {
        for (unsigned batch : {1u, 16u, 64u, 256u}) {
          rows.push_back(
              {name, hidden, batch, train, "by_hand", dynet_like::batching::Policy::none, 1});
        }
      }
    }
  }
  return rows;
}

// Runs one minibatch after the other.
Result measure_by_hand(const Row& row, double seconds) {
  if (!dynet_like::default_device()->is_cpu()) {
    throw dynet_like::UsageError("need the CPU, whose memory the model by hand reads; got " +
                                 dynet_like::default_device()->name());
  }
  const auto model = by_hand::make_model(row.model, row.hidden);
  const auto words_of = [&](std::size_t first, std::size_t count) {
    std::size_t sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += model->words(i);
    return static_cast<double>(sum);
  };
  Result result;
  double words = 0, flops = 0, minibatches = 0;
  std::size_t next = 0;
  const auto step = [&] {
    if (next + row.batch > model->size()) next = 0;
    result.loss = model->forward(next, row.batch, row.train) / row.batch;
    if (row.train) model->update(learning_rate(row.batch));
    words += words_of(next, row.batch);
    flops += model->product_flops() * (row.train ? 3 : 1);
    result.batches += static_cast<double>(model->steps());
    ++minibatches;
    next += row.batch;
  };
  for (int i = 0; i < 3; ++i) step();
  words = flops = result.batches = minibatches = 0;
  const double time = run_for(seconds, result, step);
  const double mean = words_of(0, model->size()) / static_cast<double>(model->size());
  result.instances_per_s = words / time / mean;
  result.gflops = flops / time / 1e9;
  result.nodes = words / minibatches;
  result.batches /= minibatches;
  result.bound = result.batches;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  return run_table(argc, argv, {"by_hand", kAbout, rows_by_hand(), "/b64/", measure_by_hand});
}
