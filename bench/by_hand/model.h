// Models of bench/models without graphs: no recording, no batching engine, plain arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Does the work of make_model(name, hidden, Form::fused) by hand, with the library's kernels, the
/// same data and the same initial weights.
class Model {
 public:
  virtual ~Model() = default;

  virtual std::size_t size() const = 0;
  /// As Workload counts them.
  virtual std::size_t words(std::size_t instance) const = 0;
  /// The sum of the losses of `count` instances from `first` on. `train`: update will follow.
  virtual double forward(std::size_t first, std::size_t count, bool train) = 0;
  /// Computes the gradients of the last forward pass, and makes a step of gradient descent.
  virtual void update(float rate) = 0;

  /// All weights except the table of words. Parts of a matrix have the same name and follow each
  /// other.
  virtual std::vector<Weight*> weights() = 0;
  std::span<const float> table() const { return table_; }

  /// Floating-point operations of the products of the last forward pass.
  virtual double product_flops() const = 0;
  /// Number of calls that follow each other in the last minibatch: heights of trees, or steps of
  /// LSTMs.
  virtual std::size_t steps() const = 0;

 protected:
  /// Copies the table of the model.
  explicit Model(Workload& model);

  Weight weight_of(Workload& model, const std::string& name);
  /// Columns [first, end) of a parameter.
  Weight columns_of(Workload& model, const std::string& name, unsigned first, unsigned end);
  std::size_t embedding() const { return embedding_; }
  /// The rows of words_.
  Places word_rows() const;
  /// A step of gradient descent for all weights, and for the rows of words_, whose gradients are
  /// contiguous.
  void descend(const float* dwords, float rate);

  std::unique_ptr<Queue> queue_ = make_cpu_queue();
  Arena arena_;
  std::vector<unsigned> words_;  ///< that are read in this minibatch; one may occur several times
  std::vector<std::uint32_t> labels_;

 private:
  std::size_t embedding_;
  std::vector<float> table_;
};

/// An affine map and cross_entropy: the losses of words or nodes.
class WordLosses {
 public:
  WordLosses(Queue& queue, Weight weights, Weight bias);

  /// The sum of the losses, for vectors and labels. If `dxs` are given, sets the gradients of the
  /// weights, and writes those of all x.
  double run(const Places& xs, const std::vector<std::uint32_t>& labels, Arena& arena,
             const Places* dxs);
  std::vector<Weight*> weights() { return {&weights_, &bias_}; }
  /// Floating-point operations of the products per word.
  double product_flops() const { return weights_.flops(); }

 private:
  Weight weights_, bias_;
  std::size_t classes_;
  Layer scores_layer_, loss_layer_;
};

/// The model of this name, "tree_lstm" or "tagger"; null for others.
std::unique_ptr<Model> make_model(const std::string& name, unsigned hidden);

std::unique_ptr<Model> make_tree_lstm(Workload& model);
std::unique_ptr<Model> make_tagger(Workload& model);

}  // namespace dynet_like::bench::by_hand
