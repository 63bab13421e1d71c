// A function has the same bits however it is called: vertex by vertex as operations of their own,
// as a cell, and along a recursion.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/recursion/random_body.h"
#include "tests/recursion/random_structure.h"
#include "tests/support/same_bits.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kSamples = 3;
using Cell = CellFunction<State(unsigned, const Expression&, const std::vector<State>&)>;

enum class Form { operations, cells, recursion };

class Function {
 public:
  Function(const Model& model, std::uint64_t seed) : model_(model), seed_(seed) {
    Dice dice(seed);
    column_ = random_shape(dice);
    for (Dim& dim : states_) dim = random_shape(dice);
    const auto body = [this, body = Body(model, 1000 * seed, seed % 4 == 0, false)](
                          unsigned kind, const Expression& x, const std::vector<State>& before) {
      return body(kind, x, before, states_[0], states_[1]);
    };
    operations_ = body;
    cell_.emplace(body, "cell");
    recursion_.emplace(recursion<State>(body, "recursion"));
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  struct Numbers {
    std::vector<float> values, gradients, parameters;
  };

  Numbers run(Form form, unsigned threads) const {
    GraphOptions options;
    options.threads = threads;
    Minibatch batch(options);
    std::vector<Expression> columns, losses;
    for (unsigned i = 0; i < kSamples; ++i) {
      record(batch, i, form, columns);
    }
    Gradients gradients;
    Numbers numbers;
    numbers.values = {batch.forward()};
    batch.backward(gradients);
    for (const Expression& e : columns) append(numbers.gradients, e.gradient());
    numbers.parameters = model_.all(gradients);
    return numbers;
  }

 private:
  void record(Minibatch& batch, unsigned number, Form form,
              std::vector<Expression>& columns) const {
    ComputationGraph& graph = batch.new_graph();
    RandomStructure s(kSamples * seed_ + number, 7, 2);
    for (std::vector<unsigned>& before :
         s.predecessors) {  // arguments of a cell are different ones
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    std::vector<Expression> rows;
    for (unsigned i = 0; i < s.words; ++i) {
      rows.push_back(lookup(graph, model_.words, (number + i) % kWords));
    }
    const Expression words = tanh(concatenate_cols(rows));
    columns.push_back(words);
    Dice dice(seed_ ^ 0x5555);
    std::vector<State> states = states_of(form, s, words);
    std::vector<Expression> terms;
    for (const State& state : states) {
      for (const Expression& part : state) {
        for (unsigned i = roll(dice, 3); i > 0; --i) {
          terms.push_back(i == 1 ? squared_norm(part) : sum_elems(tanh(part)));
        }
      }
    }
    if (roll(dice, 2) == 0) terms.push_back(squared_norm(words));
    for (const Expression& part : states.back()) terms.push_back(squared_norm(part));
    batch.add_loss(sum(terms));
  }

  std::vector<State> states_of(Form form, const RandomStructure& s, const Expression& words) const {
    std::vector<State> states;
    if (form == Form::recursion) {
      Dim dim = column_;
      dim.add_dim(s.words);
      const States<State> all = (*recursion_)(s.structure(), reshape(words, dim));
      for (unsigned v = 0; v < s.kinds.size(); ++v) states.push_back(all[v]);
      return states;
    }
    for (std::size_t v = 0; v < s.kinds.size(); ++v) {
      std::vector<State> before;
      for (unsigned p : s.predecessors[v]) before.push_back(states[p]);
      const Expression x = s.columns[v] == Structure::kNoColumn
                               ? Expression()
                               : reshape(pick(words, s.columns[v], 1), column_);
      states.push_back(form == Form::cells ? (*cell_)(s.kinds[v], x, before)
                                           : operations_(s.kinds[v], x, before));
    }
    return states;
  }

  const Model& model_;
  std::uint64_t seed_;
  Dim column_;
  std::array<Dim, 2> states_;
  Cell::Function operations_;
  std::optional<Cell> cell_;
  std::optional<Recursion<State>> recursion_;
};

constexpr unsigned kPart = 100;

// DYNET_LIKE_THOROUGH: 10,000 functions.
unsigned part_count() { return is_thorough() ? 100 : runs_slowly() ? 1 : 4; }

TEST(ThreeForms, HaveTheSameBits) {
  const Model model(DType::f32);
  for (std::uint64_t seed = 0; seed < part_count() * kPart; ++seed) {
    SCOPED_TRACE(seed);
    const Function function(model, seed);
    const unsigned threads = 1 + static_cast<unsigned>(seed % 3);
    const Function::Numbers want = function.run(Form::operations, threads);
    for (const Form form : {Form::cells, Form::recursion}) {
      SCOPED_TRACE(form == Form::cells ? "cells" : "recursion");
      const Function::Numbers got = function.run(form, threads);
      ASSERT_EQ(got.values, want.values);
      ASSERT_EQ(got.gradients, want.gradients);
      ASSERT_TRUE(same_sums(got.parameters, want.parameters) || got.parameters == want.parameters);
    }
  }
}

}  // namespace
}  // namespace dynet_like::testing
