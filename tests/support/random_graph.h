// Random graphs for tests: a pure function of a seed, whatever graph they are recorded on.
#pragma once

#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

/// Parameters that random graphs use: vectors and matrices between sizes 1, 4 and 7, and a table.
struct RandomModel {
  explicit RandomModel(DType dtype = DType::f32);

  ParameterCollection collection;
  std::vector<Parameter> parameters;
  Parameter bias4, bias7, w44, w47, w74, w77;
  std::vector<Parameter> weights44;  ///< more of them, so that steps have products of their own
  LookupParameter table4, table7;

  /// All gradients one behind the other.
  std::vector<float> all(const Gradients& gradients) const;
};

struct RandomGraphOptions {
  unsigned nodes = 100;
  bool dropout = true;
  /// Also nodes of parameters alone.
  bool derived = true;
  /// Inputs hold -0, denormals and infinities, too.
  bool special_values = false;
};

/// What was recorded: all expressions, and a loss of one number.
struct RandomGraph {
  std::vector<Expression> all;
  Expression loss;
};

/// Records until the graph has about `options.nodes` nodes: fan-out of three and more, repeated
/// arguments, views of views, minibatch dimensions of 1 and 3. Goes on from `before`, which was
/// recorded on the same graph.
RandomGraph record_random_graph(ComputationGraph& graph, const RandomModel& model,
                                std::uint64_t seed, const RandomGraphOptions& options,
                                const RandomGraph& before = {});

}  // namespace dynet_like::testing
