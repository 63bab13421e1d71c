// Scores of classes for every word or node, and the losses of these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// An affine map and pickneglogsoftmax. Where there are many classes, some words are run at a time:
/// their scores are still in the cache when the loss reads them, when gradients take their place,
/// and when weights and words get theirs.
class WordLosses {
 public:
  /// Begins with the parameters of the model's layer at that path, such as "/output".
  WordLosses(Queue& queue, Workload& model, const std::string& path);

  /// The sum of the losses of all words, each with what it is predicted from and its label.
  double forward(const Places& xs, const std::vector<std::uint32_t>& labels, Arena& arena);
  /// The same; and sets the gradients of the weights, and writes those of every x.
  double forward_and_backward(const Places& xs, const std::vector<std::uint32_t>& labels,
                              Arena& arena, const Places& dxs);

  std::vector<Weight*> weights() { return {&weights_, &bias_}; }
  /// Floating-point operations of the products of a word.
  double product_flops() const { return weights_.flops(); }

 private:
  // Some of the words.
  struct Words {
    Places xs;
    const std::uint32_t* labels;
    float *scores, *losses, *saved;
  };
  // visit(first, words) for one stretch after the other, which all have the same scores.
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
