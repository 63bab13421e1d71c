// Random graphs for tests: a pure function of a seed, on whatever graph they are recorded.
#pragma once

#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

/// Parameters of random graphs: vectors and matrices of sizes 1, 4 and 7, and a table.
struct RandomModel {
  explicit RandomModel(DType dtype = DType::f32);

  ParameterCollection collection;
  std::vector<Parameter> parameters;
  Parameter bias4, bias7, w44, w47, w74, w77;
  std::vector<Parameter> weights44;  ///< more matrices, so that steps have products of their own
  LookupParameter table4, table7;

  /// All gradients, one after the other.
  std::vector<float> all(const Gradients& gradients) const;
};

struct RandomGraphOptions {
  unsigned nodes = 100;
  bool dropout = true;
  /// Also record nodes of parameters alone.
  bool derived = true;
  /// Inputs include -0, denormals and infinities.
  bool special_values = false;
};

/// The recorded expressions, and a loss of one number.
struct RandomGraph {
  std::vector<Expression> all;
  Expression loss;
};

/// Records about `options.nodes` nodes: values that are read three times and more, repeated
/// arguments, views of views, minibatch dimensions of 1 and 3. Continues from `before`, which must
/// be recorded on the same graph.
RandomGraph record_random_graph(ComputationGraph& graph, const RandomModel& model,
                                std::uint64_t seed, const RandomGraphOptions& options,
                                const RandomGraph& before = {});

}  // namespace dynet_like::testing
