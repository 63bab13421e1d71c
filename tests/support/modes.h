// The modes in which graphs run, what a run gives, and whether two runs gave the same.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

using Numbers = std::vector<double>;

/// What a sample records.
struct Sample {
  Expression loss;
  std::vector<Expression> watched = {};  ///< also compared: their values and gradients
  std::vector<Expression> shown = {};    ///< their values alone
};

/// A program of a user. It must record the same whenever it is called for a sample.
struct Program {
  const ParameterCollection& model;
  std::function<Sample(ComputationGraph& graph, unsigned sample)> record;
  unsigned samples = 6;
  bool draws = false;  ///< numbers, which it does in training alone
  /// Uses values that follow from parameters alone. Each minibatch adds up their gradients before
  /// it passes them on.
  bool derives = false;
  bool asks = false;      ///< for values, while it records
  bool is_finite = true;  ///< so that detect_anomaly has nothing to say
  unsigned first = 0;     ///< the number of its first sample
};

/// How samples are recorded: in a minibatch, or each on a graph by itself.
enum class Way { one_by_one, beside_each_other, in_waves, by_themselves };

/// A mode in which a program runs.
struct Mode {
  GraphOptions options = {};
  unsigned together = 0;  ///< samples of a minibatch; 0: all
  Way way = Way::one_by_one;
  bool again = false;  ///< in memory that another run has used
};
std::string name_of(const Mode& mode);

/// What a run gave.
struct Outcome {
  std::vector<Numbers> values, gradients;  ///< by sample: of its loss, and of what is watched
  Numbers parameters;                      ///< the gradients of all parameters
  Report report;                           ///< of the last minibatch
  std::size_t parts = 0;                   ///< of all minibatches
};

/// Runs a program in a mode, in a minibatch of its own or in one that has been used before.
Outcome run(const Program& program, const Mode& mode = {});
Outcome run(Minibatch& batch, const Program& program, const Mode& mode = {});

/// Options of graphs over the parameters of a model.
GraphOptions options_of(const ParameterCollection& model, GraphOptions options = {});

/// The numbers of all parameters' gradients, one after the other.
Numbers numbers_of(const ParameterCollection& model, const Gradients& gradients);
inline std::vector<float> numbers_of(const Expression& x) { return as_vector(x.value()); }
void append(Numbers& to, const Tensor& tensor);

/// Whether bits are equal. A NaN equals any NaN, since a + b and b + a may keep different ones.
::testing::AssertionResult same_bits(const Numbers& got, const Numbers& want);
::testing::AssertionResult same_bits(const std::vector<Numbers>& got,
                                     const std::vector<Numbers>& want);
::testing::AssertionResult same_bits(const Outcome& got, const Outcome& want);
/// Whether numbers differ by at most this much, relative to 1 and to the number.
::testing::AssertionResult near(const Numbers& got, const Numbers& want, double tolerance = 1e-5);
::testing::AssertionResult near(const Outcome& got, const Outcome& want, double tolerance = 1e-5);

/// Expects of a program the bits that it gives node by node, wherever a mode promises them, and
/// what is near to them elsewhere: under all policies, with threads, alone and in pairs, in parts,
/// in inference, recorded beside each other and in waves, with shared vertices, verified, and
/// again.
void expect_same_in_all_modes(const Program& program);
/// The same for so many modes, drawn from a seed: for programs of which there are many.
void expect_same_in_some_modes(const Program& program, std::uint64_t seed, unsigned count);

}  // namespace dynet_like::testing
