// What the Tree-LSTMs take without a library: the yardstick for recording, planning and batching.
#include <algorithm>

#include "bench/by_hand/tree_lstm.h"
#include "bench/support/table.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/device.h"

namespace {

using namespace dynet_like::bench;

constexpr const char* kAbout =
    "The Tree-LSTMs of bench/throughput, same data and same weights, as a program for these\n"
    "models alone: no graphs, no recording, no planner; the nodes of a minibatch are ordered by\n"
    "their height, and the library's kernels are called directly.\n"
    "\n"
    "The columns are those of throughput; there is nothing to record or to plan, nodes are cells\n"
    "and batches are heights. What of it the library reaches:\n"
    "\n"
    "  by_hand --json by_hand.json\n"
    "  throughput --filter '^tree_lstm.*/b64/.*/fused/auto/t1' --json ours.json\n"
    "  compare.py by_hand.json ours.json --without form,policy";

std::vector<Row> rows_by_hand() {
  std::vector<Row> rows;
  for (const ModelKind& kind : all_models()) {
    if (!by_hand::TreeLSTM::has(kind.name)) continue;
    for (unsigned hidden : kind.sizes) {
      for (bool train : {true, false}) {
        for (unsigned batch : {1u, 16u, 64u, 256u}) {
          rows.push_back(
              {kind.name, hidden, batch, train, "by_hand", dynet_like::batching::Policy::none, 1});
        }
      }
    }
  }
  return rows;
}

Result measure_by_hand(const Row& row, double seconds) {
  if (!dynet_like::default_device()->is_cpu()) {
    throw dynet_like::UsageError("need the CPU, whose memory the model by hand reads; got " +
                                 dynet_like::default_device()->name());
  }
  const std::vector<BinaryTree> trees = make_trees(kTreeData);
  double all_nodes = 0;
  for (const BinaryTree& tree : trees) all_nodes += static_cast<double>(tree.nodes.size());
  by_hand::TreeLSTM model(row.model, row.hidden);
  Result result;
  double nodes = 0, flops = 0, minibatches = 0;
  std::size_t next = 0;
  const auto step = [&] {
    if (next + row.batch > trees.size()) next = 0;
    const std::span<const BinaryTree> batch(trees.data() + next, row.batch);
    next += row.batch;
    result.loss = model.forward(batch, row.train) / row.batch;
    if (row.train) model.update(learning_rate(row.batch));
    for (const BinaryTree& tree : batch) nodes += static_cast<double>(tree.nodes.size());
    flops += model.product_flops() * (row.train ? 3 : 1);
    result.batches += static_cast<double>(model.levels());
    ++minibatches;
  };
  for (int i = 0; i < 3; ++i) step();
  nodes = flops = result.batches = minibatches = 0;
  const double time = run_for(seconds, result, step);
  result.instances_per_s = nodes / time / (all_nodes / static_cast<double>(trees.size()));
  result.gflops = flops / time / 1e9;
  result.nodes = nodes / minibatches;
  result.batches /= minibatches;
  result.bound = result.batches;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  return run_table(argc, argv, {"by_hand", kAbout, rows_by_hand(), "/b64/", measure_by_hand});
}
