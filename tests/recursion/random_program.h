// Random programs for tests: recursions, cells and plain operations that read each other's values.
// A pure function of a seed.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "tests/recursion/random_body.h"
#include "tests/recursion/random_structure.h"
#include "tests/support/same_bits.h"

namespace dynet_like::testing {

constexpr unsigned kSamples = 4;

using Cell = CellFunction<State(unsigned, const Expression&, const std::vector<State>&)>;

/// Two recursions and a cell, and how a sample uses them.
class Program {
 public:
  Program(const Model& model, std::uint64_t seed) : model_(model), seed_(seed) {
    Dice dice(seed);
    has_noise_ = roll(dice, 4) == 0;
    column_ = random_shape(dice);
    for (Dim& dim : states_) dim = random_shape(dice);
    const auto function = [&, this](unsigned number) {
      return [this, body = Body(model, 1000 * seed + number, has_noise_)](
                 unsigned kind, const Expression& x, const std::vector<State>& before) {
        return body(kind, x, before, states_[0], states_[1]);
      };
    };
    for (unsigned i = 0; i < 2; ++i) {
      functions_.emplace_back(function(i));
      along_.push_back(recursion<State>(function(i), i == 0 ? "first" : "second"));
    }
    functions_.emplace_back(function(2));
    cell_.emplace(functions_[2], "cell");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool has_noise() const { return has_noise_; }

  struct Sample {
    Expression loss;
    std::vector<Expression> watched, matrices;
  };

  /// With recursions and cells, or their functions called directly.
  Sample record(ComputationGraph& graph, unsigned number, bool directly) const {
    Dice dice(seed_ ^ 0x5555);  // samples of a program do the same along structures of their own
    const RandomStructure s(kSamples * seed_ + number, 7, 2);
    std::vector<Expression> rows;
    for (unsigned i = 0; i < s.words; ++i) {
      rows.push_back(lookup(graph, model_.words, (number + i) % kWords));
    }
    Sample sample;
    const Expression words = tanh(concatenate_cols(rows));
    const Expression given = input(graph, {kSize}, {0.5f, -1, 2, 0.25f, -0.5f, 1});
    const State start = {reshape(tanh(given + parameter(graph, model_.bias[0])), states_[0]),
                         reshape(cmult(given, parameter(graph, model_.bias[1])), states_[1])};
    std::vector<Expression> terms;
    // What others read, outside: as it is, and in another shape.
    const auto read = [&](const Expression& e, bool is_matrix = false) {
      (is_matrix ? sample.matrices : sample.watched).push_back(e);
      const Dim shape = random_shape(dice);
      for (unsigned i = roll(dice, 3); i > 0; --i) {
        const bool as_it_is = roll(dice, 2) == 0 || e.dim().size() != kSize;
        const Expression seen = as_it_is ? e : reshape(e, shape);
        terms.push_back(roll(dice, 2) == 0 ? squared_norm(seen) : sum_elems(tanh(seen)));
      }
    };
    read(words);
    for (const Expression& part : start) read(part);
    const bool begins = roll(dice, 2) == 0;
    const Along first = along(0, directly, s, words, begins ? &start : nullptr);
    for (const Expression& part : first.all) read(part, true);
    const State last = first.last;
    for (const Expression& part : last) read(part);
    const bool of_states = roll(dice, 2) == 0;  // a state of every vertex: more than enough columns
    const Expression columns =
        of_states && s.kinds.size() >= s.words ? first.all[roll(dice, 2)] : words;
    const Along second = along(1, directly, s, columns, roll(dice, 2) == 0 ? &last : nullptr);
    for (const Expression& part : second.all) read(part, true);
    // Cells whose arguments others read, and that read each other's.
    std::vector<State> known = {start, last, second.last};
    for (unsigned i = 0; i < 3; ++i) {
      const State &a = known[roll(dice, static_cast<unsigned>(known.size()))], &b = known.back();
      const Expression x = reshape(a[roll(dice, 2)], column_);
      const std::vector<State> before = roll(dice, 3) == 0 ? std::vector{a, b} : std::vector{b};
      const unsigned kind = roll(dice, 2);
      known.push_back(directly ? call(2, kind, x, before) : (*cell_)(kind, x, before));
      for (const Expression& part : known.back()) read(part);
    }
    for (const Expression& part : known.back()) terms.push_back(squared_norm(part));
    terms.push_back(squared_norm(second.last[0]));
    sample.loss = sum(terms);
    return sample;
  }

 private:
  struct Along {
    State all, last;
  };

  Along along(unsigned number, bool directly, const RandomStructure& s, const Expression& columns,
              const State* start) const {
    const unsigned n = columns.dim().size() / kSize;
    if (!directly) {
      Dim dim = column_;
      dim.add_dim(n);
      const Expression matrix = reshape(columns, dim);
      const States<State> states = start != nullptr ? along_[number](s.structure(), matrix, *start)
                                                    : along_[number](s.structure(), matrix);
      return {flat(states.all(), states.size()), states.last()};
    }
    const Expression matrix = reshape(columns, Dim({kSize, n}));
    std::vector<State> states;
    std::array<std::vector<Expression>, 2> parts;
    for (std::size_t v = 0; v < s.kinds.size(); ++v) {
      std::vector<State> before;
      for (unsigned p : s.predecessors[v]) before.push_back(states[p]);
      if (before.empty() && start != nullptr) before = {*start};
      const Expression x = s.columns[v] == Structure::kNoColumn
                               ? Expression()
                               : reshape(pick(matrix, s.columns[v], 1), column_);
      states.push_back(call(number, s.kinds[v], x, before));
      for (unsigned i = 0; i < 2; ++i) parts[i].push_back(vector_of(states.back()[i]));
    }
    return {{concatenate_cols(parts[0]), concatenate_cols(parts[1])}, states.back()};
  }
  // States have gradients of their own, whatever elements they have in common.
  State call(unsigned number, unsigned kind, const Expression& x,
             const std::vector<State>& before) const {
    State state = functions_[number](kind, x, before);
    for (Expression& part : state) part = part * 1.0f;
    return state;
  }
  static State flat(const State& all, unsigned vertices) {
    const Dim dim({kSize, vertices});
    return {reshape(all[0], dim), reshape(all[1], dim)};
  }

  const Model& model_;
  std::uint64_t seed_;
  bool has_noise_ = false;
  Dim column_;
  std::array<Dim, 2> states_;
  std::vector<Cell::Function> functions_;
  std::vector<Recursion<State>> along_;
  std::optional<Cell> cell_;
};

struct Numbers {
  std::vector<float> values, gradients, of_matrices, parameters;
};

/// Which samples run, and how.
struct Samples {
  unsigned first = 0, count = kSamples, together = kSamples;
  bool directly = false;
  std::function<void(unsigned)> before = {};  ///< called before a sample is recorded
};

inline GraphOptions options_for(const Model& model, GraphOptions options) {
  options.dtype = model.collection.dtype();
  return options;
}

inline Numbers run(Minibatch& batch, const Model& model, const Program& program,
                   const Samples& which, bool inference = false) {
  Gradients gradients;
  Numbers numbers;
  const unsigned end = which.first + which.count;
  for (unsigned first = which.first; first < end; first += which.together) {
    batch.clear();
    std::vector<Program::Sample> samples;
    std::vector<std::uint64_t> seeds(which.together);
    std::iota(seeds.begin(), seeds.end(), 1000 + first);  // what a sample draws is in its number
    batch.seed_samples(seeds);
    for (unsigned i = first; i < std::min(first + which.together, end); ++i) {
      if (which.before) which.before(i);
      samples.push_back(program.record(batch.new_graph(), i, which.directly));
      batch.add_loss(samples.back().loss);
    }
    batch.forward();
    if (!inference) batch.backward(gradients);
    for (const Program::Sample& sample : samples) {
      append(numbers.values, sample.loss.value());
      for (const Expression& e : sample.matrices) {
        append(numbers.values, e.value());
        // Called directly, states have gradients, and a matrix of them has what reads that.
        if (!which.directly && !inference) append(numbers.of_matrices, e.gradient());
      }
      for (const Expression& e : sample.watched) {
        append(numbers.values, e.value());
        if (!inference) append(numbers.gradients, e.gradient());
      }
    }
  }
  if (!inference) numbers.parameters = model.all(gradients);
  return numbers;
}

inline void expect_same(const Numbers& got, const Numbers& want) {
  EXPECT_TRUE(same(got.values, want.values)) << "values";
  EXPECT_TRUE(same(got.gradients, want.gradients)) << "gradients";
  EXPECT_TRUE(same(got.of_matrices, want.of_matrices)) << "gradients of matrices";
  EXPECT_TRUE(same_sums(got.parameters, want.parameters)) << "parameters";
}

inline void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::abs(want[i]))) << i;
  }
}

inline void expect_near(const Numbers& got, const Numbers& want) {
  ASSERT_NO_FATAL_FAILURE(expect_near(got.values, want.values));
  ASSERT_NO_FATAL_FAILURE(expect_near(got.gradients, want.gradients));
  ASSERT_NO_FATAL_FAILURE(expect_near(got.parameters, want.parameters));
}

/// The same for numbers of direct calls, whose states are copies. With noise, a state may be read
/// inside its vertex, too: then it has another gradient than a copy.
inline void expect_near_direct(const Program& program, Numbers got, Numbers want) {
  if (program.has_noise()) got.gradients = want.gradients = {};
  expect_near(got, want);
}

}  // namespace dynet_like::testing
