// An LSTM over the sequences of a minibatch, step by step.
#pragma once

#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/by_hand/steps.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Does what nn::LSTM does. What it reads does not depend on states, so that W x + b is one product
/// for all elements; a step is then one call of the library's kernel. There is no product with the
/// zeros before the first step.
class LSTM {
 public:
  /// Begins with the parameters of the model's layer at that path, such as "/lstm".
  LSTM(Queue& queue, Workload& model, const std::string& path);

  /// Reads an x for every element, in the order of the steps; `train`: a backward pass will follow,
  /// until which all of these and the arena's memory must stay.
  void forward(const Steps& steps, const Places& xs, Arena& arena, bool train);
  /// By element: the output, and where its gradient must be written before the backward pass.
  const Places& h() const { return h_; }
  const Places& dh() const { return dh_; }
  /// Sets the gradients of the weights, and those of every x.
  void backward(const GradientPlaces& dx);

  std::vector<Weight*> weights() { return {&w_, &u_, &bias_}; }
  /// Floating-point operations of the products of the last forward pass.
  double product_flops() const;

 private:
  void allocate(Arena& arena, bool train);
  void backward_step(std::size_t step);
  void backward_inputs(const GradientPlaces& dx);
  void set_weight_gradients();
  std::size_t size() const { return steps_->elements().size(); }

  Weight w_, u_, bias_;
  std::size_t hidden_;
  Layer input_layer_, first_layer_, layer_;
  std::vector<float> zeros_;

  const Steps* steps_ = nullptr;
  Places xs_;
  // By element; a state is h, then c. The backward pass does not need the gates' sums of inputs:
  // the gradients of the sums take their place.
  float *sums_ = nullptr, *states_ = nullptr;
  float *saved_ = nullptr, *dstates_ = nullptr;  ///< null without training
  Places sum_places_, h_, c_, dh_, dc_;
};

}  // namespace dynet_like::bench::by_hand
