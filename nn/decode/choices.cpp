// Choices of actions. Choices are few and scores many, so each score is looked at once.
#include "nn/decode/choices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "dynet_like/core/draw.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

constexpr double kInfiniteScore = std::numeric_limits<double>::infinity();

[[noreturn]] void throw_not_a_score(double score, std::size_t action) {
  throw NumericError("[decode] need scores that are numbers below infinity; got " +
                     std::to_string(score) + " for action " + std::to_string(action));
}

// A limit: no score up to it, added to `so_far`, is better than `least`. (Rounding of sums is
// monotonic.)
template <class T>
T not_better(double so_far, double least) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const T limit = std::nextafter(static_cast<T>(least - so_far), kLowest);
  return so_far + static_cast<double>(limit) <= least ? limit : kLowest;
}

class BestChoices {
 public:
  explicit BestChoices(std::size_t count) : count_(count) {
    best_.reserve(std::min<std::size_t>(count, 1024) + 1);
  }

  // Most scores are not among the best: skips several at a time.
  template <class T>
  void add(std::size_t hypothesis, double so_far, const T* scores, std::size_t actions) {
    constexpr std::size_t kAtOnce = 16;
    T limit = not_better<T>(so_far, least_);
    for (std::size_t first = 0; first < actions; first += kAtOnce) {
      const std::size_t end = std::min(first + kAtOnce, actions);
      int any = 0;
      for (std::size_t i = first; i < end; ++i) any |= !(scores[i] <= limit);  // or NaN
      if (any == 0) continue;
      for (std::size_t i = first; i < end; ++i) {
        add({hypothesis, static_cast<unsigned>(i), so_far + static_cast<double>(scores[i])});
      }
      limit = not_better<T>(so_far, least_);
    }
  }
  void add(const Choice& choice) {
    if (choice.score <= least_) return;
    if (!(choice.score < kInfiniteScore)) throw_not_a_score(choice.score, choice.action);
    insert(choice);
  }

  std::vector<Choice> take() { return std::move(best_); }

 private:
  // Inserts a choice after all that are as good, since those came first.
  void insert(const Choice& choice) {
    if (best_.size() < count_) best_.push_back(choice);
    std::size_t place = best_.size() - 1;
    for (; place > 0 && choice.score > best_[place - 1].score; --place) {
      best_[place] = best_[place - 1];
    }
    best_[place] = choice;
    if (best_.size() == count_) least_ = best_.back().score;
  }

  std::size_t count_;
  double least_ = -kInfiniteScore;  // only better scores are choices
  std::vector<Choice> best_;
};

// Calls `visit` with each hypothesis and the scores of its actions.
template <class Visit>
void for_each_hypothesis(std::span<const Tensor> scores, const Visit& visit) {
  std::size_t hypothesis = 0;
  for (const Tensor& tensor : scores) {
    const std::size_t actions = tensor.d.batch_size();
    for (std::size_t first = 0; first < tensor.d.size(); first += actions, ++hypothesis) {
      if (tensor.v64 != nullptr) {
        visit(hypothesis, tensor.v64 + first, actions);
      } else {
        visit(hypothesis, tensor.v + first, actions);
      }
    }
  }
}

template <class T>
std::optional<Choice> first_of_best(const T* scores, std::size_t actions) {
  std::size_t place = actions;
  T largest = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < actions; ++i) {
    if (scores[i] <= largest) continue;
    largest = scores[i];
    if (!(largest < std::numeric_limits<T>::infinity())) throw_not_a_score(largest, i);
    place = i;
  }
  if (place == actions) return std::nullopt;
  return Choice{0, static_cast<unsigned>(place), static_cast<double>(largest)};
}

}  // namespace

std::vector<Choice> best_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                 std::size_t count) {
  BestChoices best(count);
  for_each_hypothesis(scores, [&](std::size_t hypothesis, const auto* first, std::size_t actions) {
    best.add(hypothesis, so_far[hypothesis], first, actions);
  });
  return best.take();
}

std::vector<Choice> best_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                 std::size_t count,
                                 const std::function<bool(std::size_t, unsigned)>& is_choice) {
  BestChoices best(count);
  for_each_hypothesis(scores, [&](std::size_t hypothesis, const auto* first, std::size_t actions) {
    for (unsigned action = 0; action < actions; ++action) {
      const double score = so_far[hypothesis] + static_cast<double>(first[action]);
      if (is_choice(hypothesis, action)) best.add({hypothesis, action, score});
    }
  });
  return best.take();
}

std::optional<Choice> best_choice(const Tensor& scores) {
  const std::size_t actions = scores.d.size();
  return scores.v64 != nullptr ? first_of_best(scores.v64, actions)
                               : first_of_best(scores.v, actions);
}

std::vector<Choice> drawn_choices(std::span<const double> so_far, std::span<const Tensor> scores,
                                  Random& random) {
  std::vector<Choice> drawn;
  for (const Tensor& tensor : scores) {
    for (unsigned b = 0; b < tensor.d.batch_elems(); ++b) {
      const Tensor of_one = tensor.batch_elem(b);
      const auto action = static_cast<unsigned>(draw_from_softmax(of_one, random));
      const std::size_t hypothesis = drawn.size();
      drawn.push_back({hypothesis, action, so_far[hypothesis] + of_one.at(action)});
    }
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
