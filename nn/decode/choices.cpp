// Choices are few and scores are many: all scores are looked at once.
#include "nn/decode/choices.h"

#include <algorithm>
#include <limits>
#include <string>

#include "dynet_like/core/draw.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void throw_not_a_score(double score, std::size_t action) {
  throw NumericError("[decode] need scores that are numbers below infinity; got " +
                     std::to_string(score) + " for action " + std::to_string(action));
}

}  // namespace

std::vector<Choice> best_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                 std::size_t count) {
  const auto is_better = [](const Choice& a, const Choice& b) { return a.score > b.score; };
  std::vector<Choice> best;
  best.reserve(std::min<std::size_t>(count, 1024) + 1);
  double least = -kInfinity;  // what is not better is no choice
  for (std::size_t h = 0; h < scores.size(); ++h) {
    const std::size_t actions = scores[h].d.size();
    for (std::size_t action = 0; action < actions; ++action) {
      const double score = so_far[h] + scores[h].at(action);
      if (score <= least) continue;
      if (!(score < kInfinity)) throw_not_a_score(score, action);
      const Choice choice = {h, static_cast<unsigned>(action), score};
      best.insert(std::upper_bound(best.begin(), best.end(), choice, is_better), choice);
      if (best.size() > count) best.pop_back();
      if (best.size() == count) least = best.back().score;
    }
  }
  return best;
}

std::vector<Choice> drawn_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                  Random& random) {
  std::vector<Choice> drawn;
  for (std::size_t h = 0; h < scores.size(); ++h) {
    const auto action = static_cast<unsigned>(draw_from_softmax(scores[h], random));
    drawn.push_back({h, action, so_far[h] + scores[h].at(action)});
  }
  return drawn;
}

std::vector<unsigned> Trail::actions(Place place) const {
  std::vector<unsigned> actions;
  for (; place != 0; place = steps_[place - 1].before) actions.push_back(steps_[place - 1].action);
  std::reverse(actions.begin(), actions.end());
  return actions;
}

}  // namespace dynet_like::nn
