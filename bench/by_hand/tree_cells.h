// What the Tree-LSTMs by hand differ in: the cells of inner nodes, with their weights.
#pragma once

#include <memory>
#include <string>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Inner nodes that are run together, and where the values of their children lie.
struct InnerNodes {
  std::size_t first, count;  ///< of all inner nodes of the minibatch
  Places left_h, left_c, right_h, right_c;
};

/// Gradients of inner nodes and of their children; a state is h, then c. Those of the children's h
/// are added to what is there, those of their c are written.
struct InnerGradients {
  Places dstates, left_dh, left_dc, right_dh, right_dc;
};

/// The cell of inner nodes. It keeps what its backward pass needs.
class InnerCell {
 public:
  virtual ~InnerCell() = default;

  /// Room for a minibatch with so many inner nodes; `train`: a backward pass will follow.
  virtual void allocate(Arena& arena, std::size_t nodes, bool train) = 0;
  /// Writes the states h and c, node by node.
  virtual void forward(const InnerNodes& nodes, float* states) = 0;
  virtual void backward(const InnerNodes& nodes, const InnerGradients& gradients) = 0;
  /// Of the weights, from all inner nodes of the minibatch after their backward pass.
  virtual void set_weight_gradients(const InnerNodes& all) = 0;
  virtual std::vector<Weight*> weights() = 0;
  /// Floating-point operations of the products of a node.
  virtual double product_flops() const = 0;

  /// The gates i, o, u of a leaf have the same bias: so many rows from this one on.
  virtual Weight& bias() = 0;
  virtual std::size_t leaf_row() const = 0;
};

using MakeInnerCell = std::unique_ptr<InnerCell> (*)(Queue& queue, Workload& model);
/// The cell of nn::TreeLSTM: one call of the library's kernel.
std::unique_ptr<InnerCell> make_both_forget_cell(Queue& queue, Workload& model);
/// The cell of make_tree_lstm_own_forget: a product for i, o and u and one for all forget gates,
/// and what is pointwise while the sums are in the cache.
std::unique_ptr<InnerCell> make_own_forget_cell(Queue& queue, Workload& model);

}  // namespace dynet_like::bench::by_hand
