// GraphOptions::memory_limit: parts take no more than they may, and outputs outlive their part.
#include "dynet_like/program/recursion_op.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// Programs with different needs: per sample a loss, of `sample` alone.
class MemoryPrograms : public ::testing::Test {
 public:
  using Program = Expression (MemoryPrograms::*)(ComputationGraph&, unsigned) const;

  Expression gates(ComputationGraph& graph, unsigned sample) const {
    Expression x = lookup(graph, table_, sample % 10);
    for (unsigned i = 0; i < 3 + sample % 5; ++i) {
      const Expression a = parameter(graph, w_) * x, b = parameter(graph, bias_);
      x = cmult(tanh(a + b), sigmoid(a - b)) + 0.5f * x;
    }
    return cross_entropy(x, sample % 16);
  }
  Expression cells(ComputationGraph& graph, unsigned sample) const {
    nn::LSTM::State state = lstm_.start(graph);
    std::vector<Expression> losses;
    for (unsigned i = 0; i < 2 + sample % 7; ++i) {
      state = lstm_.step(state, lookup(graph, table_, (sample + i) % 10));
      losses.push_back(cross_entropy(state.h, i));
    }
    return sum(losses);
  }
  // Many consumers of one value, parts of values, and minibatch dimensions.
  Expression fans(ComputationGraph& graph, unsigned sample) const {
    const Expression x = lookup(graph, table_, std::vector<unsigned>{sample % 10, 3, 4});
    std::vector<Expression> terms;
    for (unsigned i = 0; i < 6; ++i) {
      terms.push_back(pick_range(tanh(parameter(graph, w_) * x), i, i + 8));
    }
    return sum_batches(squared_norm(concatenate(terms)));
  }
  Expression small(ComputationGraph& graph, unsigned sample) const {
    Expression x = pick(lookup(graph, table_, sample % 10), 3u);
    for (unsigned i = 0; i < 20; ++i) x = tanh(x + 0.1f);
    return x;
  }
  // Now and then one that needs as much as many others, which often begins a part.
  Expression uneven(ComputationGraph& graph, unsigned sample) const {
    Random random(sample);
    Expression x = lookup(graph, table_, sample % 10);
    for (unsigned i = random.below(8) == 0 ? 60 : random.below(4); i > 0; --i) {
      x = tanh(parameter(graph, w_) * x + parameter(graph, bias_));
    }
    return cross_entropy(x, sample % 16);
  }
  // Much that all samples share, which counts once, and little of their own.
  Expression derived(ComputationGraph& graph, unsigned sample) const {
    Expression weights = parameter(graph, w_);
    for (unsigned i = 0; i < 30; ++i) weights = tanh(weights) * 0.9f;
    const Expression x = lookup(graph, table_, sample % 10);
    return cross_entropy(weights * x, sample % 16);
  }

  // Vertices whose backward pass keeps what the gradients of weights are made of.
  Expression vertices(ComputationGraph& graph, unsigned sample) const {
    const unsigned n = 2 + sample % 7;
    std::vector<unsigned> rows(n, sample % 10);
    const Expression columns = reshape(lookup(graph, table_, rows), Dim({16, n}));
    return squared_norm(gru_(columns).last());
  }

  static constexpr unsigned kSamples = 64;
  void record(Minibatch& batch, Program program) const {
    for (unsigned i = 0; i < kSamples; ++i) {
      if (i % 7 == 2) batch.new_graph();  // one that needs nothing
      batch.add_loss((this->*program)(batch.new_graph(), i));
    }
  }

  ParameterCollection model_;
  Parameter w_ = model_.add_parameters({16, 16}), bias_ = model_.add_parameters({16});
  LookupParameter table_ = model_.add_lookup_parameters(10, {16});
  nn::LSTM lstm_{model_, 16, 16};
  nn::GRU gru_{model_, 16, 16};
};

constexpr std::pair<const char*, MemoryPrograms::Program> kPrograms[] = {
    {"gates", &MemoryPrograms::gates},   {"cells", &MemoryPrograms::cells},
    {"fans", &MemoryPrograms::fans},     {"small", &MemoryPrograms::small},
    {"uneven", &MemoryPrograms::uneven}, {"vertices", &MemoryPrograms::vertices}};

// A part has a sample, even if that needs more by itself.
TEST_F(MemoryPrograms, TakeNoMoreThanTheLimit) {
  for (const auto& [name, program] : kPrograms) {
    std::size_t most_alone = 0;
    for (unsigned i = 0; i < kSamples; ++i) {
      Minibatch alone;
      alone.add_loss((this->*program)(alone.new_graph(), i));
      alone.forward();
      alone.backward();
      most_alone = std::max<std::size_t>(most_alone, alone.explain().peak_bytes);
    }
    for (unsigned threads = 1; threads <= 3; ++threads) {
      GraphOptions options{.threads = threads};
      Minibatch whole(options);
      record(whole, program);
      whole.forward();
      whole.backward();
      for (const std::size_t share : {1, 2, 3, 5, 7}) {
        options.memory_limit = whole.explain().peak_bytes / share;
        Minibatch parts(options);
        record(parts, program);
        parts.forward();
        parts.backward();
        const std::size_t most = std::max(options.memory_limit, most_alone);
        EXPECT_LE(parts.explain().peak_bytes, most) << name << ' ' << threads << ' ' << share;
        if (threads > 1) continue;  // more lanes may make more batches
        EXPECT_LT(parts.parts(), kSamples / 4 * share) << name;
      }
    }
  }
}

TEST_F(MemoryPrograms, KeepTheirOutputsInInference) {
  for (const auto& [name, program] : kPrograms) {
    GraphOptions options{.inference = true};
    Minibatch whole(options);
    record(whole, program);
    const float total = whole.forward();
    options.memory_limit = 20000;
    Minibatch parts(options);
    std::vector<Expression> outputs;
    for (unsigned i = 0; i < kSamples; ++i) {
      const Expression loss = (this->*program)(parts.new_graph(), i);
      parts.add_loss(loss);
      outputs.push_back(loss * 2.0f);
      parts.add_output(outputs.back());
    }
    EXPECT_EQ(parts.forward(), total) << name;
    EXPECT_GT(parts.parts(), 1u) << name;
    const std::uint64_t nodes = parts.explain().nodes;
    double sum = 0;
    for (const Expression& output : outputs) sum += output.value().at(0);
    EXPECT_EQ(static_cast<float>(sum), 2 * total) << name;
    // A second call computes what is new alone, and keeps what was there.
    parts.add_output(outputs[3] + 1.0f);
    EXPECT_EQ(parts.forward(), total) << name;
    EXPECT_LT(parts.explain().nodes, nodes + 200) << name;
    EXPECT_EQ(parts.explain().recomputed, 0u) << name;
  }
}

TEST_F(MemoryPrograms, WhatIsSharedCountsOnce) {
  Minibatch whole;
  record(whole, &MemoryPrograms::derived);
  whole.forward();
  whole.backward();
  GraphOptions options;
  options.memory_limit = 3 * whole.explain().peak_bytes;  // what is known of it is a bound
  Minibatch parts(options);
  record(parts, &MemoryPrograms::derived);
  parts.forward();
  parts.backward();
  EXPECT_LT(parts.parts(), 4u);
}

// Of gradients of weights, a vertex of a recursion keeps the factors alone.
TEST(MemoryLimitTest, VerticesHaveNoWeights) {
  ParameterCollection model;
  const nn::LSTM lstm(model, 64, 64);
  const auto train = [&](Minibatch& batch) {
    for (int i = 0; i < 8; ++i) {
      const Expression columns = input(batch.new_graph(), Dim({64, 20}), std::vector<float>(1280));
      batch.add_loss(squared_norm(lstm(columns).all().h));
    }
    batch.forward();
    batch.backward();
  };
  Minibatch whole;
  train(whole);
  Minibatch limited({.memory_limit = 3 * whole.explain().peak_bytes});
  train(limited);
  EXPECT_EQ(limited.parts(), 1u);
}

// In training a vertex keeps the gradient of its output, and the factors of those of weights.
TEST(MemoryLimitTest, VerticesHaveFactors) {
  constexpr unsigned kHidden = 16;
  ParameterCollection model;
  const nn::GRU gru(model, kHidden, kHidden);
  ComputationGraph graph;
  gru(input(graph, {kHidden, 3}, std::vector<float>(3 * kHidden)));
  const detail::Tape& tape = graph.record().tape();
  unsigned recursions = 0;
  for (detail::NodeId node = 0; node < tape.size(); ++node) {
    const detail::Signature& type = tape.type_of(node).signature;
    if (type.op->role != ops::Role::recursion) continue;
    ++recursions;
    const detail::VertexKind& later = tape.recursion_of(node).vertices->kinds.back();
    const auto& op = detail::recursion_of(type);
    // The gates' sums with h and those with x differ in the reset gate.
    EXPECT_GE(op.bytes_of_vertex(later, false) - op.bytes_of_vertex(later, true),
              (1 + 6) * kHidden * sizeof(float));
  }
  EXPECT_EQ(recursions, 1u);
}

// A batch of sums has small values, and for each of their terms a pointer.
TEST_F(MemoryPrograms, PeaksCountLists) {
  constexpr unsigned kMany = 500, kTerms = 4;
  for (const bool inference : {false, true}) {
    Minibatch batch({.inference = inference});
    for (unsigned i = 0; i < kMany; ++i) {
      const Expression x = input(batch.new_graph(), static_cast<float>(i));
      batch.add_output(sum(std::vector<Expression>(kTerms, x)));
    }
    batch.forward();
    EXPECT_GE(batch.explain().peak_bytes, kMany * kTerms * sizeof(void*)) << inference;
  }
}

}  // namespace
}  // namespace dynet_like
