// The cells of inner nodes, with their weights: the part in which the Tree-LSTMs by hand differ.
#pragma once

#include <memory>
#include <string>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Inner nodes that are run together, and the addresses of their children's values.
struct InnerNodes {
  std::size_t first, count;  ///< among all inner nodes of the minibatch
  Places left_h, left_c, right_h, right_c;
};

/// Gradients of inner nodes and of their children. A state is h, then c. Gradients of the
/// children's h are added to the existing ones, those of their c are written.
struct InnerGradients {
  Places dstates, left_dh, left_dc, right_dh, right_dc;
};

/// The cell of inner nodes. It keeps the data that its backward pass needs.
class InnerCell {
 public:
  virtual ~InnerCell() = default;

  /// Allocates memory for a minibatch with `nodes` inner nodes. `train`: a backward pass follows.
  virtual void allocate(Arena& arena, std::size_t nodes, bool train) = 0;
  /// Writes the states h and c, node by node.
  virtual void forward(const InnerNodes& nodes, float* states) = 0;
  virtual void backward(const InnerNodes& nodes, const InnerGradients& gradients) = 0;
  /// Sets the gradients of the weights, from all inner nodes of the minibatch, after their backward
  /// pass.
  virtual void set_weight_gradients(const InnerNodes& all) = 0;
  virtual std::vector<Weight*> weights() = 0;
  /// Floating-point operations of the products per node.
  virtual double product_flops() const = 0;

  /// The bias of the gates i, o, u, which leaves share. These gates begin at row leaf_row().
  virtual Weight& bias() = 0;
  virtual std::size_t leaf_row() const = 0;
};

using MakeInnerCell = std::unique_ptr<InnerCell> (*)(Queue& queue, Workload& model);
/// The cell of nn::TreeLSTM: one call of the library's kernel.
std::unique_ptr<InnerCell> make_both_forget_cell(Queue& queue, Workload& model);
/// The cell of make_tree_lstm_own_forget: a product for i, o and u and one for all forget gates;
/// pointwise operations run while the sums are in the cache.
std::unique_ptr<InnerCell> make_own_forget_cell(Queue& queue, Workload& model);

}  // namespace dynet_like::bench::by_hand
