// How many batches real and synthetic minibatches take: close to the lower bound, and never more
// than was counted when the planner was chosen.
#include <cstdlib>

#include "nn/data/treebank.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

constexpr unsigned kHidden = 8, kSamples = 64, kMinibatches = 3;

// One affine map and one nonlinearity per gate, as programs for DyNet are written.
class CellOfOps {
 public:
  explicit CellOfOps(ParameterCollection& model) {
    for (unsigned gate = 0; gate < 8; ++gate) {
      bias_.push_back(model.add_parameters({kHidden}));
      left_.push_back(model.add_parameters({kHidden, kHidden}));
      right_.push_back(model.add_parameters({kHidden, kHidden}));
    }
  }

  nn::TreeLSTM::State leaf(const Expression& x) const {
    ComputationGraph& graph = *x.pg;
    const auto gate = [&](unsigned g) {
      return affine_transform({parameter(graph, bias_[g]), parameter(graph, left_[g]), x});
    };
    const Expression c = cmult(sigmoid(gate(0)), tanh(gate(1)));
    return {cmult(sigmoid(gate(2)), tanh(c)), c};
  }

  nn::TreeLSTM::State inner(const nn::TreeLSTM::State& l, const nn::TreeLSTM::State& r) const {
    ComputationGraph& graph = *l.h.pg;
    const auto gate = [&](unsigned g) {
      return affine_transform({parameter(graph, bias_[g]), parameter(graph, left_[g]), l.h,
                               parameter(graph, right_[g]), r.h});
    };
    const Expression c = cmult(sigmoid(gate(3)), tanh(gate(4))) + cmult(sigmoid(gate(5)), l.c) +
                         cmult(sigmoid(gate(6)), r.c);
    return {cmult(sigmoid(gate(7)), tanh(c)), c};
  }

 private:
  std::vector<Parameter> bias_, left_, right_;
};

// Forget gates that see their own child only; leaves and inner nodes have their biases in common.
// As in the trees of DyNet's own benchmark, with a sum or with an affine map per gate.
class CellOfOwnForgets {
 public:
  CellOfOwnForgets(ParameterCollection& model, bool affine) : affine_(affine) {
    for (unsigned gate = 0; gate < 4; ++gate) bias_.push_back(model.add_parameters({kHidden}));
    for (unsigned gate = 0; gate < 3; ++gate) {
      leaf_.push_back(model.add_parameters({kHidden, kHidden}));
      both_.push_back(model.add_parameters({kHidden, 2 * kHidden}));
    }
    for (unsigned child = 0; child < 2; ++child) {
      forget_.push_back(model.add_parameters({kHidden, kHidden}));
    }
  }

  nn::TreeLSTM::State leaf(const Expression& x) const { return cell(*x.pg, leaf_, x, {}); }

  nn::TreeLSTM::State inner(const nn::TreeLSTM::State& l, const nn::TreeLSTM::State& r) const {
    ComputationGraph& graph = *l.h.pg;
    const Expression left = sigmoid(map(graph, bias_[3], forget_[0], l.h));
    const Expression right = sigmoid(map(graph, bias_[3], forget_[1], r.h));
    return cell(graph, both_, concatenate({l.h, r.h}), {cmult(left, l.c), cmult(right, r.c)});
  }

 private:
  Expression map(ComputationGraph& graph, const Parameter& b, const Parameter& w,
                 const Expression& x) const {
    if (affine_) return affine_transform({parameter(graph, b), parameter(graph, w), x});
    return parameter(graph, b) + parameter(graph, w) * x;
  }
  nn::TreeLSTM::State cell(ComputationGraph& graph, const std::vector<Parameter>& weights,
                           const Expression& x, const std::vector<Expression>& kept) const {
    const Expression i = sigmoid(map(graph, bias_[0], weights[0], x));
    const Expression o = sigmoid(map(graph, bias_[1], weights[1], x));
    const Expression u = tanh(map(graph, bias_[2], weights[2], x));
    Expression c = cmult(i, u);
    for (const Expression& part : kept) c = c + part;
    return {cmult(o, tanh(c)), c};
  }

  bool affine_;
  std::vector<Parameter> bias_, leaf_, both_, forget_;
};

template <class Cell>
Report run(ParameterCollection& model, const Cell& cell, std::span<const nn::Tree> trees) {
  static const unsigned kWords = 1000;
  const LookupParameter table = model.add_lookup_parameters(kWords, {kHidden});
  const nn::Linear output(model, kHidden, 5);
  Minibatch batch;
  for (const nn::Tree& tree : trees) {
    ComputationGraph& graph = batch.new_graph();
    std::vector<nn::TreeLSTM::State> states;
    std::vector<Expression> losses;
    for (unsigned node = 0; node < tree.size(); ++node) {
      states.push_back(tree.is_leaf(node)
                           ? cell.leaf(lookup(graph, table, node % kWords))
                           : cell.inner(states[tree.left(node)], states[tree.right(node)]));
      losses.push_back(cross_entropy(output(states.back().h), node % 5));
    }
    batch.add_loss(sum(losses));
  }
  batch.forward();
  batch.backward();
  return batch.explain();
}

struct Totals {
  double nodes = 0, batches = 0, bound = 0, types = 0, copied = 0;
};

template <class MakeCell>
Totals mean_over_minibatches(std::span<const nn::Tree> trees, const MakeCell& make_cell) {
  Totals totals;
  for (unsigned i = 0; i < kMinibatches; ++i) {
    ParameterCollection model;
    const Report report = run(model, make_cell(model), trees.subspan(i * kSamples, kSamples));
    totals.nodes += static_cast<double>(report.nodes) / kMinibatches;
    totals.batches += static_cast<double>(report.batches) / kMinibatches;
    totals.bound += static_cast<double>(report.bound) / kMinibatches;
    totals.types += static_cast<double>(report.types.size()) / kMinibatches;
    totals.copied += static_cast<double>(report.copied_bytes);
  }
  for (const auto& [name, value] :
       {std::pair{"batches", totals.batches}, {"nodes", totals.nodes}, {"types", totals.types}}) {
    ::testing::Test::RecordProperty(name, std::to_string(value));
  }
  return totals;
}

std::vector<nn::Tree> real_trees() {
  const char* data = std::getenv("DYNET_LIKE_DATA");
  if (data == nullptr) return {};
  const std::filesystem::path file = std::filesystem::path(data) / "sst" / "train.txt";
  if (!std::filesystem::exists(file)) return {};
  return nn::read_treebank(file.string());
}

// Nested lists, as in ListOps: an operator takes its arguments one at a time, and its end last.
void add_list(nn::Tree& tree, Random& random, unsigned levels) {
  tree.add_leaf(0, "token");
  if (levels == 0 || random.below(4) > 0) return;
  for (std::uint32_t more = 3 + random.below(4); more > 0; --more) {
    if (more > 1) {
      add_list(tree, random, levels - 1);
    } else {
      tree.add_leaf(0, "end");
    }
    tree.add_parent(0, 2);
  }
}

std::vector<nn::Tree> synthetic_trees() {
  Random random(5);
  std::vector<nn::Tree> trees;
  while (trees.size() < kMinibatches * kSamples) {
    nn::Tree tree;
    add_list(tree, random, 19);
    if (tree.leaf_count() > 10) trees.push_back(std::move(tree));
  }
  return trees;
}

TEST(BatchCounts, RealTreesOpByOp) {
  const std::vector<nn::Tree> trees = real_trees();
  if (trees.empty()) GTEST_SKIP() << "need sst/train.txt under DYNET_LIKE_DATA";
  const Totals totals =
      mean_over_minibatches(trees, [](ParameterCollection& model) { return CellOfOps(model); });
  EXPECT_GT(totals.nodes, 30000);
  EXPECT_LE(totals.batches, 1.05 * totals.bound);
  EXPECT_LE(totals.batches, 276);
  EXPECT_LE(totals.types, 27);
  EXPECT_EQ(totals.copied, 0);
}

TEST(BatchCounts, RealTreesWithForgetGatesOfTheirOwn) {
  const std::vector<nn::Tree> trees = real_trees();
  if (trees.empty()) GTEST_SKIP() << "need sst/train.txt under DYNET_LIKE_DATA";
  for (const bool affine : {false, true}) {
    const Totals totals = mean_over_minibatches(
        trees, [=](ParameterCollection& model) { return CellOfOwnForgets(model, affine); });
    // The bound counts the longest chains of the two forget gates apart. Trees that turn left and
    // right in different orders cannot share them all.
    EXPECT_LE(totals.batches, 1.035 * totals.bound) << affine;
    EXPECT_EQ(totals.copied, 0) << affine;
  }
}

TEST(BatchCounts, RealTreesWithTheLayer) {
  const std::vector<nn::Tree> trees = real_trees();
  if (trees.empty()) GTEST_SKIP() << "need sst/train.txt under DYNET_LIKE_DATA";
  const Totals totals = mean_over_minibatches(
      trees, [](ParameterCollection& model) { return nn::TreeLSTM(model, kHidden, kHidden); });
  EXPECT_LE(totals.batches, 1.05 * totals.bound);
  EXPECT_LE(totals.batches, 200);
  EXPECT_EQ(totals.copied, 0);
}

TEST(BatchCounts, SyntheticTrees) {
  const Totals totals = mean_over_minibatches(
      synthetic_trees(), [](ParameterCollection& model) { return CellOfOps(model); });
  EXPECT_LE(totals.batches, 1.05 * totals.bound);
  EXPECT_EQ(totals.copied, 0);
}

}  // namespace
}  // namespace dynet_like
