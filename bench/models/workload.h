// A workload: a model with its data.
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
  /// Number of words (of tree nodes, arcs, nodes) of an instance. Its cost is proportional to that.
  virtual std::size_t words(std::size_t instance) const = 0;
  virtual Expression loss(ComputationGraph& graph, std::size_t instance) const = 0;
  ParameterCollection& parameters() { return parameters_; }

 protected:
  ParameterCollection parameters_;
};

/// With the layers of nn/, which use fused cells if there are any; op by op, with one affine map
/// per gate, as in programs for DyNet; or the same with each step as a cell(f).
enum class Form { fused, ops, steps };

/// A word is rare if it occurs at most so often in all sentences.
constexpr unsigned kRareCount = 5;

/// The size of word vectors in all models but the language model.
constexpr unsigned kEmbedding = 128;

/// The data of the models. Models of one kind have the same data.
constexpr DataOptions kTreeData{10000, 5, 1}, kTaggerData{20000, 9, 2}, kLanguageData{10000, 9, 3},
    kLatticeData{10000, 9, 4}, kDagData{10000, 5, 5};

}  // namespace dynet_like::bench
