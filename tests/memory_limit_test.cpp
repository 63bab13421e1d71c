// GraphOptions::memory_limit: parts take no more than they may, and outputs outlive their part.
#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

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
      x = cmult(tanh(a + b), logistic(a - b)) + 0.5f * x;
    }
    return pickneglogsoftmax(x, sample % 16);
  }
  Expression cells(ComputationGraph& graph, unsigned sample) const {
    nn::LSTM::State state = lstm_.start(graph);
    std::vector<Expression> losses;
    for (unsigned i = 0; i < 2 + sample % 7; ++i) {
      state = lstm_.step(state, lookup(graph, table_, (sample + i) % 10));
      losses.push_back(pickneglogsoftmax(state.h, i));
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

  static constexpr unsigned kSamples = 64;
  void record(Minibatch& batch, Program program) const {
    for (unsigned i = 0; i < kSamples; ++i) {
      batch.add_loss((this->*program)(batch.new_graph(), i));
    }
  }

  ParameterCollection model_;
  Parameter w_ = model_.add_parameters({16, 16}), bias_ = model_.add_parameters({16});
  LookupParameter table_ = model_.add_lookup_parameters(10, {16});
  nn::LSTM lstm_{model_, 16, 16};
};

constexpr std::pair<const char*, MemoryPrograms::Program> kPrograms[] = {
    {"gates", &MemoryPrograms::gates},
    {"cells", &MemoryPrograms::cells},
    {"fans", &MemoryPrograms::fans},
    {"small", &MemoryPrograms::small}};

TEST_F(MemoryPrograms, TakeNoMoreThanTheLimit) {
  for (const auto& [name, program] : kPrograms) {
    for (unsigned threads = 1; threads <= 3; ++threads) {
      GraphOptions options;
      options.threads = threads;
      Minibatch whole(options);
      record(whole, program);
      whole.forward();
      whole.backward();
      for (const std::size_t share : {1, 2, 5}) {
        options.memory_limit = whole.explain().peak_bytes / share;
        Minibatch parts(options);
        record(parts, program);
        parts.forward();
        parts.backward();
        if (parts.parts() == kSamples) continue;  // a sample may need more than that by itself
        EXPECT_LE(parts.explain().peak_bytes, options.memory_limit) << name << ' ' << threads;
        if (threads > 1) continue;  // more lanes may make more batches
        EXPECT_LT(parts.parts(), kSamples / 4 * share) << name;
      }
    }
  }
}

TEST_F(MemoryPrograms, KeepTheirOutputsInInference) {
  for (const auto& [name, program] : kPrograms) {
    GraphOptions options;
    options.inference = true;
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

}  // namespace
}  // namespace dynet_like
