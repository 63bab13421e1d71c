// What is measured: a model with its data.
#pragma once

#include <memory>
#include <vector>

#include "bench/support/data.h"
#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

/// A model with its data: records the loss of an instance on a graph.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::size_t size() const = 0;
  /// Number of words (of tree nodes, arcs, nodes) of an instance: what its cost is proportional to.
  virtual std::size_t words(std::size_t instance) const = 0;
  virtual Expression loss(ComputationGraph& graph, std::size_t instance) const = 0;
  ParameterCollection& parameters() { return parameters_; }

 protected:
  ParameterCollection parameters_;
};

/// With the layers of nn/, which use fused cells where there are such; op by op, with one affine
/// map per gate, as programs for DyNet are written; or the same with each step a cell(f).
enum class Form { fused, ops, steps };

/// A word seen at most so often in all sentences is rare.
constexpr unsigned kRareCount = 5;

/// Words are vectors of this size in all models but the language model.
constexpr unsigned kEmbedding = 128;

/// The data of the models: those of one kind are the same wherever they are made.
constexpr DataOptions kTreeData{10000, 5, 1}, kTaggerData{20000, 9, 2}, kLanguageData{10000, 9, 3},
    kLatticeData{10000, 9, 4}, kDagData{10000, 5, 5};

}  // namespace dynet_like::bench
