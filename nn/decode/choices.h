// How hypotheses continue: with the best actions of all, or with a drawn action each.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/core/tensor.h"

namespace dynet_like::nn {

/// A hypothesis, by its number, one more action, and the score of both together.
struct Choice {
  std::size_t hypothesis;
  unsigned action;
  double score;

  bool operator==(const Choice&) const = default;
};

// The functions take the scores of hypotheses so far, and of their next actions: a tensor for each
// hypothesis, or a minibatch element of one tensor. An action with -infinity is not a choice. All
// throw NumericError for a score that is NaN or infinity.

/// The best choices, at most `count`, the best first. Of equal choices, the one of the earlier
/// hypothesis comes first, then the one with the lower action.
std::vector<Choice> best_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                 std::size_t count);
/// The same, among choices for which `is_choice` is true.
std::vector<Choice> best_choices(
    std::span<const double> so_far, std::span<const Tensor> scores, std::size_t count,
    const std::function<bool(std::size_t hypothesis, unsigned action)>& is_choice);
/// For every hypothesis one action, drawn from the softmax of its scores.
std::vector<Choice> drawn_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                  Random& random);
/// The first of the best actions of one hypothesis; nothing if there is no choice.
std::optional<Choice> best_choice(const Tensor& scores);

/// The actions of many hypotheses, which share their prefixes.
class Trail {
 public:
  /// A place in the trail. The default is the beginning, before all actions.
  using Place = std::size_t;

  Place add(Place before, unsigned action) {
    steps_.push_back({before, action});
    return steps_.size();
  }
  /// The actions from the beginning to this place.
  std::vector<unsigned> actions(Place place) const;

 private:
  struct Step {
    Place before;
    unsigned action;
  };

  std::vector<Step> steps_;  ///< place p follows step p - 1
};

}  // namespace dynet_like::nn
