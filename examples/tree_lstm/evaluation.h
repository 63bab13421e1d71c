// How well the Tree-LSTM example labels trees.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "examples/tree_lstm/task.h"

namespace dynet_like::examples {

/// What the model says of a tree's root.
struct Prediction {
  std::int32_t label = 0;
  bool is_positive = false;  ///< of sentiments: labels 3 and 4 together beat 0 and 1
};

/// The predictions for all samples; they do not depend on the number of threads.
std::vector<Prediction> predict(
    const std::vector<Sample>& samples, unsigned threads,
    const std::function<Expression(ComputationGraph&, const Sample&)>& root_scores);

/// Right answers among all answers.
struct Accuracy {
  std::size_t right = 0, all = 0;

  void add(bool is_right) {
    right += is_right ? 1 : 0;
    ++all;
  }
  double share() const {
    return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
  }
};

/// Over all roots whose tree has so many operators (which are ListOps').
Accuracy accuracy(const std::vector<Sample>& samples, const std::vector<Prediction>& predictions,
                  std::uint32_t min_operators = 0, std::uint32_t max_operators = ~0u);

/// Negative or positive, over the roots that are not neutral (label 2 of 0 to 4).
Accuracy binary_accuracy(const std::vector<Sample>& samples,
                         const std::vector<Prediction>& predictions);

/// ListOps' accuracy by the number of operators.
struct SizeRow {
  std::string operators;  ///< "3 to 5"
  Accuracy accuracy;
};
std::vector<SizeRow> accuracy_by_size(const std::vector<Sample>& samples,
                                      const std::vector<Prediction>& predictions);

}  // namespace dynet_like::examples
