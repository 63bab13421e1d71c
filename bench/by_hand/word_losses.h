// Scores of classes for every word or node, and their losses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// An affine map and cross_entropy. If there are many classes, only some words are run at a
/// time: then their scores are still in the cache when the loss reads them, when gradients replace
/// them, and when the gradients of weights and words are computed.
class WordLosses {
 public:
  /// Copies the parameters of the model's layer at this path, such as "/output".
  WordLosses(Queue& queue, Workload& model, const std::string& path);

  /// The sum of the losses of all words, for their vectors and labels.
  double forward(const Places& xs, const std::vector<std::uint32_t>& labels, Arena& arena);
  /// The same. Also sets the gradients of the weights, and writes those of all x.
  double forward_and_backward(const Places& xs, const std::vector<std::uint32_t>& labels,
                              Arena& arena, const Places& dxs);

  std::vector<Weight*> weights() { return {&weights_, &bias_}; }
  /// Floating-point operations of the products per word.
  double product_flops() const { return weights_.flops(); }

 private:
  // Some of the words.
  struct Words {
    Places xs;
    const std::uint32_t* labels;
    float *scores, *losses, *saved;
  };
  // Calls visit(first, words) for one part after the other. All use the same memory for scores.
  template <class Visit>
  double for_stretches(const Places& xs, const std::vector<std::uint32_t>& labels, Arena& arena,
                       bool train, const Visit& visit);
  void forward(const Words& words);
  void backward(const Words& words, const Destination& dx, bool is_first);

  Weight weights_, bias_;
  std::size_t classes_;
  Layer scores_layer_, loss_layer_;
};

}  // namespace dynet_like::bench::by_hand
