// An LSTM over the sequences of a minibatch, step by step.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/by_hand/steps.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Does the work of nn::LSTM. A step is one call of the library's kernel. If few sequences have a
/// step, reading W takes as long as multiplying. So for all such steps, which are the last ones, W
/// x + b is one product, since it does not depend on states. There is no product with the zeros
/// before the first step.
class LSTM {
 public:
  /// Copies the parameters of the model's layer at this path, such as "/lstm".
  LSTM(Queue& queue, Workload& model, const std::string& path);

  /// Reads an x for every element, in the order of steps. `train`: a backward pass follows, until
  /// which `steps`, `xs` and the arena's memory must stay unchanged.
  void forward(const Steps& steps, const Places& xs, Arena& arena, bool train);
  /// By element: the output, and where its gradient must be written before the backward pass.
  const Places& h() const { return h_; }
  const Places& dh() const { return dh_; }
  /// Sets the gradients of the weights, and writes those of every x.
  void backward(const GradientPlaces& dx);

  std::vector<Weight*> weights() { return {&w_, &u_, &bias_}; }
  /// Floating-point operations of the products of the last forward pass.
  double product_flops() const;

 private:
  void allocate(Arena& arena, bool train);
  void backward_step(std::size_t step, const GradientPlaces& dx);
  void forward_narrow_inputs(const Operand& w);
  void backward_narrow_inputs(const GradientPlaces& dx);
  void set_weight_gradients();
  std::size_t narrow_begin() const { return steps_->begin(std::min(narrow_, steps_->count())); }
  std::size_t size() const { return steps_->elements().size(); }

  Weight w_, u_, bias_;
  std::size_t hidden_;
  Layer first_layer_, wide_layer_, narrow_layer_, input_layer_;
  std::vector<float> zeros_;

  const Steps* steps_ = nullptr;
  std::size_t narrow_ = 0;  ///< the first step with few sequences
  Places xs_;
  // By element. A state is h, then c. The backward pass does not need W x + b: the gradients of the
  // gates replace it.
  float *gates_ = nullptr, *states_ = nullptr;
  float *saved_ = nullptr, *dstates_ = nullptr;  ///< null without training
  Places gate_places_, h_, c_, dh_, dc_, dstate_places_;
};

}  // namespace dynet_like::bench::by_hand
