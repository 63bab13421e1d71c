// <dynet/hsm-builder.h>: clusters of words, and distributions over paths through them.
#include <dynet/hsm-builder.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "dynet_like/core/errors.h"
#include "tests/compat/softmax.h"

namespace {

using namespace dynet;
using dynet_like::FileError;
using dynet_like::UsageError;
using Doubles = std::vector<double>;

constexpr unsigned kRep = 2;
const std::vector<float> kInput = {0.5f, -1.5f};

std::string written(const std::string& text) {
  const std::string path = testing::TempDir() + "dynet_paths.txt";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The logarithms of the probabilities of a cluster's outcomes, in double.
Doubles plain_logs(const Cluster& cluster, ComputationGraph& graph) {
  const unsigned outcomes = cluster.num_children() + cluster.num_words();
  if (outcomes == 1) return {0};
  const std::vector<float> w = as_vector(cluster.get_weights(graph).value());
  const std::vector<float> b = as_vector(cluster.get_bias(graph).value());
  Doubles logits(b.begin(), b.end());
  for (unsigned r = 0; r < b.size(); ++r) {
    for (unsigned c = 0; c < kRep; ++c) {
      logits[r] += static_cast<double>(w[c * b.size() + r]) * static_cast<double>(kInput[c]);
    }
  }
  if (outcomes == 2) return {-std::log1p(std::exp(-logits[0])), -std::log1p(std::exp(logits[0]))};
  double sum = 0;
  for (const double l : logits) sum += std::exp(l);
  for (double& l : logits) l -= std::log(sum);
  return logits;
}

void randomise(ParameterCollection& model) {
  for (const auto& p : model.parameters_list()) {
    std::vector<float> values(p->size());
    for (float& value : values) value = rand_normal();
    p->set_value(values);
  }
}

struct CompatClusterTest : testing::Test {
  CompatClusterTest() { reset_rng(1); }
};

TEST_F(CompatClusterTest, LeavesHaveOneTwoOrMoreWords) {
  for (unsigned count = 1; count <= 4; ++count) {
    ParameterCollection model;
    Cluster leaf;
    for (unsigned i = 0; i < count; ++i) leaf.add_word(10 + i);
    EXPECT_THROW(leaf.initialize(model), UsageError);
    leaf.initialize(kRep, model);
    EXPECT_EQ(model.parameter_count(), count == 1 ? 0 : (count == 2 ? 1 : count) * (kRep + 1));
    randomise(model);
    ComputationGraph graph;
    leaf.new_graph(graph);
    const Expression x = input(graph, {kRep}, kInput);
    const Doubles logs = plain_logs(leaf, graph);
    const std::vector<float> all = as_vector(leaf.log_distribution(x, graph).value());
    std::vector<unsigned> counts(count);
    reset_rng(count);
    for (int i = 0; i < 2000; ++i) ++counts.at(leaf.sample(x, graph));
    for (unsigned r = 0; r < count; ++r) {
      EXPECT_EQ(leaf.get_index(10 + r), r);
      EXPECT_EQ(leaf.get_word(r), 10 + r);
      EXPECT_NEAR(all[r], logs[r], 1e-5);
      EXPECT_NEAR(as_scalar(leaf.neg_log_softmax(x, r, graph).value()), -logs[r], 1e-5);
      const double p = std::exp(logs[r]);
      EXPECT_NEAR(counts[r], 2000 * p, 5 * std::sqrt(2000 * p * (1 - p)) + 1e-9);
    }
    EXPECT_THROW(leaf.neg_log_softmax(x, count, graph), UsageError);
    EXPECT_THROW(leaf.get_word(count), UsageError);
    EXPECT_THROW(leaf.get_index(1), UsageError);
  }
}

TEST_F(CompatClusterTest, AloneAWordNeedsNoParameters) {
  ParameterCollection model;
  Cluster leaf;
  leaf.add_word(1);
  leaf.initialize(kRep, model);
  EXPECT_EQ(model.parameter_count(), 0u);
  ComputationGraph graph;
  EXPECT_THROW(leaf.get_weights(graph), UsageError);
  EXPECT_THROW(leaf.get_bias(graph), UsageError);
}

TEST_F(CompatClusterTest, ChildrenAreFoundBySymbol) {
  Cluster root;
  Cluster* const a = root.add_child(7);
  Cluster* const b = root.add_child(9);
  EXPECT_EQ(root.add_child(7), a);
  EXPECT_EQ(root.num_children(), 2u);
  EXPECT_EQ(root.get_child(1), b);
  EXPECT_EQ(root.get_index(9), 1u);
  EXPECT_THROW(root.get_child(2), UsageError);
  Cluster* const c = b->add_child(3);
  EXPECT_EQ(c->get_path(), (std::vector<unsigned>{9, 3}));
  EXPECT_EQ(c->toString(), "9 3");
  EXPECT_EQ(root.toString(), "");
  c->add_word(1);
  EXPECT_THROW(c->add_word(1), UsageError);
  EXPECT_THROW(c->add_child(1), UsageError);
  EXPECT_THROW(root.add_word(1), UsageError);
}

/// Binary codes of five words, one of them alone in its cluster; "s" has none.
struct Hierarchical : CompatClusterTest {
  Hierarchical() {
    words.convert("s");
    path = written("00\tx\t5\n00\ty\t3\n010\tu\n\n011 v 1\n00\tz\n1 w\n");
  }

  Dict words;
  ParameterCollection model;
  std::string path;
};

TEST_F(Hierarchical, IsASoftmaxAtEveryCluster) {
  HierarchicalSoftmaxBuilder builder(kRep, path, words, model);
  EXPECT_EQ(words.get_words(), (std::vector<std::string>{"s", "x", "y", "u", "v", "z", "w"}));
  // The root, "0" and "01" have two children each, "00" three words, the other leaves one.
  EXPECT_EQ(model.parameter_count(), (1 + 1 + 1 + 3) * (kRep + 1));
  randomise(model);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  const auto list = builder.get_parameter_collection().parameters_list();
  const auto logit = [&](unsigned cluster, unsigned row) {
    const auto &w = list[2 * cluster], &b = list[2 * cluster + 1];
    const std::size_t rows = b->size();
    return static_cast<double>(b->values.v[row]) +
           static_cast<double>(w->values.v[row]) * static_cast<double>(kInput[0]) +
           static_cast<double>(w->values.v[rows + row]) * static_cast<double>(kInput[1]);
  };
  const auto log_of_first = [&](unsigned cluster, double sign) {
    return -std::log1p(std::exp(-sign * logit(cluster, 0)));
  };
  const double zero = log_of_first(0, 1), one = log_of_first(0, -1);
  const double zero_zero = zero + log_of_first(1, 1), zero_one = zero + log_of_first(1, -1);
  Doubles in_leaf = {logit(2, 0), logit(2, 1), logit(2, 2)};
  const double sum = std::log(std::exp(in_leaf[0]) + std::exp(in_leaf[1]) + std::exp(in_leaf[2]));
  const Doubles logs = {-INFINITY,
                        zero_zero + in_leaf[0] - sum,
                        zero_zero + in_leaf[1] - sum,
                        zero_one + log_of_first(3, 1),
                        zero_one + log_of_first(3, -1),
                        zero_zero + in_leaf[2] - sum,
                        one};
  const std::vector<float> all = as_vector(builder.full_log_distribution(x).value());
  EXPECT_EQ(as_vector(builder.full_logits(x).value()), all);
  ASSERT_EQ(all.size(), logs.size());
  EXPECT_EQ(all[0], -INFINITY);
  double total = 0;
  for (unsigned w = 1; w < logs.size(); ++w) {
    EXPECT_NEAR(all[w], logs[w], 1e-5) << w;
    EXPECT_NEAR(as_scalar(builder.neg_log_softmax(x, w).value()), -logs[w], 1e-5) << w;
    total += std::exp(static_cast<double>(all[w]));
  }
  EXPECT_NEAR(total, 1, 1e-5);
  EXPECT_THROW(builder.neg_log_softmax(x, 0), UsageError);
  EXPECT_THROW(builder.neg_log_softmax(x, 7), UsageError);

  reset_rng(3);
  expect_samples(builder, x, logs, 3000);
}

TEST_F(Hierarchical, TakesAWordPerMinibatchElement) {
  HierarchicalSoftmaxBuilder builder(kRep, path, words, model);
  ComputationGraph graph;
  builder.new_graph(graph, false);
  const Expression batch = input(graph, Dim({kRep}, 3), {1, 2, -1, 0.5f, 0.25f, 3});
  const std::vector<unsigned> wanted = {6, 4, 2};
  const Expression losses = builder.neg_log_softmax(batch, wanted);
  const Expression all = builder.full_log_distribution(batch);
  EXPECT_EQ(losses.dim(), Dim({1}, 3));
  EXPECT_EQ(all.dim(), Dim({7}, 3));
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_NEAR(as_vector(losses.value())[i], -as_vector(all.value())[7 * i + wanted[i]], 1e-5);
  }
  graph.backward(sum_batches(losses));
  EXPECT_FALSE(model.parameters_list()[0]->has_grad());
  builder.new_graph(graph);
  graph.backward(builder.neg_log_softmax(pick_batch_elem(batch, 1), 4));
  EXPECT_TRUE(model.parameters_list()[0]->has_grad());
  model.reset_gradient();
}

TEST_F(Hierarchical, HasGradients) {
  HierarchicalSoftmaxBuilder builder(kRep, path, words, model);
  randomise(model);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  expect_gradients(builder, model, x, words.size());
}

TEST_F(Hierarchical, PathsMayHaveAnySymbols) {
  Dict dict;
  HierarchicalSoftmaxBuilder builder(
      kRep, written("animal cat\ttom\nanimal dog\trex\nanimal dog\tfido\nplant\toak\n"), dict,
      model);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  EXPECT_EQ(model.parameter_count(), 3 * (kRep + 1));  // the root, "animal" and "animal dog"
  EXPECT_EQ(builder.full_log_distribution(x).dim(), Dim({4}));
}

TEST_F(Hierarchical, CanMoveToAnotherCollection) {
  HierarchicalSoftmaxBuilder builder(kRep, path, words, model);
  ParameterCollection other;
  builder.initialize(other);
  EXPECT_EQ(other.parameter_count(), model.parameter_count());
  ComputationGraph graph;
  builder.new_graph(graph);
  graph.backward(builder.neg_log_softmax(input(graph, {kRep}, kInput), 6));
  EXPECT_FALSE(model.parameters_list()[0]->has_grad());
  EXPECT_TRUE(other.parameters_list()[0]->has_grad());
  other.reset_gradient();
}

TEST_F(Hierarchical, ReportsBadLines) {
  const auto line_of = [&](const std::string& text) -> std::size_t {
    Dict dict;
    try {
      HierarchicalSoftmaxBuilder(kRep, written(text), dict, model);
    } catch (const FileError& error) {
      return error.line();
    }
    ADD_FAILURE() << text;
    return 0;
  };
  EXPECT_EQ(line_of("0\tx\n1\n"), 2u);
  EXPECT_EQ(line_of("0\tx\n1\tx\n"), 2u);
  EXPECT_EQ(line_of("0\tx\n01\ty\n"), 2u);
  EXPECT_EQ(line_of("01\tx\n0\ty\n"), 2u);
  EXPECT_EQ(line_of(std::string(257, '0') + "\tx\n"), 1u);
  EXPECT_EQ(line_of("\tx\n"), 1u);
  EXPECT_EQ(line_of(""), 0u);
}

}  // namespace
