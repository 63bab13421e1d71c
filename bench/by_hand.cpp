// How long some models take without a library: the yardstick for recording, planning and batching.
#include "bench/by_hand/sequence_model.h"
#include "bench/by_hand/tree_lstm.h"
#include "bench/support/table.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/device.h"

namespace {

using namespace dynet_like::bench;

constexpr const char* kAbout =
    "Models of bench/throughput, same data and same weights, as programs for these models alone:\n"
    "no graphs, no recording, no planner; the library's kernels are called directly. In "
    "Tree-LSTMs\n"
    "the nodes of a minibatch are sorted by height, in the tagger and the language model the\n"
    "sentences by length, so that each height, and each step of an LSTM, is one call.\n"
    "\n"
    "The columns are those of throughput; there is nothing to record or to plan, nodes are cells\n"
    "(of sentences: words) and batches are heights (of sentences: steps of LSTMs). To compare it\n"
    "with the library:\n"
    "\n"
    "  by_hand --json by_hand.json\n"
    "  throughput --filter '^(tree_lstm|tagger|language_model).*/b64/.*/fused/auto/t1' \\\n"
    "    --json ours.json\n"
    "  compare.py by_hand.json ours.json --without form,policy";

std::vector<Row> rows_by_hand() {
  std::vector<Row> rows;
  for (const ModelKind& kind : all_models()) {
    if (!by_hand::TreeLSTM::has(kind.name) && !by_hand::has_sequence_model(kind.name)) continue;
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

std::size_t batches_of(const by_hand::TreeLSTM& model) { return model.levels(); }
std::size_t batches_of(const by_hand::SequenceModel& model) { return model.steps(); }

// Runs one minibatch after the other. size_of(instance) is its number of nodes.
template <class Instance, class Model, class Size>
Result measure_model(const Row& row, double seconds, const std::vector<Instance>& data,
                     Model& model, const Size& size_of) {
  const auto size_of_all = [&](std::span<const Instance> instances) {
    std::size_t sum = 0;
    for (const Instance& instance : instances) sum += size_of(instance);
    return static_cast<double>(sum);
  };
  Result result;
  double nodes = 0, flops = 0, minibatches = 0;
  std::size_t next = 0;
  const auto step = [&] {
    if (next + row.batch > data.size()) next = 0;
    const std::span<const Instance> batch(data.data() + next, row.batch);
    next += row.batch;
    result.loss = model.forward(batch, row.train) / row.batch;
    if (row.train) model.update(learning_rate(row.batch));
    nodes += size_of_all(batch);
    flops += model.product_flops() * (row.train ? 3 : 1);
    result.batches += static_cast<double>(batches_of(model));
    ++minibatches;
  };
  for (int i = 0; i < 3; ++i) step();
  nodes = flops = result.batches = minibatches = 0;
  const double time = run_for(seconds, result, step);
  result.instances_per_s = nodes / time / (size_of_all(data) / static_cast<double>(data.size()));
  result.gflops = flops / time / 1e9;
  result.nodes = nodes / minibatches;
  result.batches /= minibatches;
  result.bound = result.batches;
  return result;
}

Result measure_by_hand(const Row& row, double seconds) {
  if (!dynet_like::default_device()->is_cpu()) {
    throw dynet_like::UsageError("need the CPU, whose memory the model by hand reads; got " +
                                 dynet_like::default_device()->name());
  }
  if (by_hand::TreeLSTM::has(row.model)) {
    by_hand::TreeLSTM model(row.model, row.hidden);
    return measure_model(row, seconds, make_trees(kTreeData), model,
                         [](const BinaryTree& tree) { return tree.nodes.size(); });
  }
  const auto model = by_hand::make_sequence_model(row.model, row.hidden);
  return measure_model(row, seconds, make_sentences(model->data()), *model,
                       [&](const Sentence& sentence) { return model->words_of(sentence); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_table(argc, argv, {"by_hand", kAbout, rows_by_hand(), "/b64/", measure_by_hand});
}
