// A search over steps of the user, from its first states to what it has found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dynet_like/graph/computation_graph.h"
#include "nn/decode/choices.h"
#include "nn/decode/steps.h"

namespace dynet_like::nn {

struct SearchOptions {
  /// An action after which nothing follows, such as the end of a sentence.
  std::optional<unsigned> end = {};
  /// The most actions, the end included.
  std::size_t max_length = 1000;
  /// How many hypotheses are followed at once.
  std::size_t beam = 1;
  /// How many are returned, if so many are found.
  std::size_t n_best = 1;
  /// A, at least 0: hypotheses of n actions, the end included, are compared by their scores divided
  /// by ((5 + n) / 6)^A, so that longer ones have a chance (Wu et al. 2016, equation 14).
  double length_penalty = 0;
  /// Divides scores: below 1, what is likely becomes more so.
  float temperature = 1;
  /// The score of a hypothesis is the sum of its actions': of their logarithms of probabilities,
  /// which are the log_softmax of the scores of all allowed ones, or of the scores as they are.
  bool normalise = true;
};

/// What a search has found.
template <class State>
struct Hypothesis {
  std::vector<unsigned> actions;  ///< without the end action
  double sum = 0;                 ///< of the actions' scores, the end's included
  double score = 0;               ///< the sum, divided as SearchOptions::length_penalty says
  bool is_complete = false;       ///< it has ended, and was not ended by SearchOptions::max_length
  State state;                    ///< after these actions
};

/// Throws UsageError for options that make no sense.
void check(const SearchOptions& options);
/// What the sum of a hypothesis of so many actions is divided by.
double length_divisor(const SearchOptions& options, std::size_t length);
/// The scores of actions as the options want them. Throws ShapeError unless they are a column that
/// has the end action, UsageError for an action that is allowed and not there.
Expression scores_as_chosen(const Expression& scores,
                            const std::optional<std::vector<unsigned>>& allowed,
                            const SearchOptions& options);
[[noreturn]] void throw_dead_end();

/// One search, from its first states to what it has found. Every step asks once, for the scores of
/// all hypotheses that are open.
template <class State>
class Search {
 public:
  using Choose = std::function<std::vector<Choice>(std::span<const double> so_far,
                                                   std::span<const Tensor> scores)>;

  /// Both must outlive the search.
  Search(const Steps<State>& steps, const SearchOptions& options)
      : steps_(steps), options_(options) {
    check(options);
  }

  std::vector<Hypothesis<State>> run(const std::vector<State>& starts, const Choose& choose) {
    for (const State& start : starts) add({start, 0, {}});
    while (!open_.empty() && length_ < options_.max_length && !is_settled()) follow(choose);
    for (Open& open : open_) add_found(std::move(open), false);
    return std::move(found_);
  }

 private:
  struct Open {
    State state;
    double sum;
    Trail::Place place;
  };

  void follow(const Choose& choose) {
    std::vector<Open> before;
    std::vector<Expression> scores;
    std::vector<double> sums;
    for (Open& open : std::exchange(open_, {})) {
      std::optional<std::vector<unsigned>> allowed;
      if (steps_.allowed) allowed = steps_.allowed(open.state);
      if (allowed && allowed->empty()) continue;  // it leads nowhere
      scores.push_back(scores_as_chosen(steps_.scores(open.state), allowed, options_));
      sums.push_back(open.sum);
      before.push_back(std::move(open));
    }
    ++length_;
    for (const auto& [hypothesis, action, sum] : choose(sums, values_of(scores))) {
      const auto& [state, sum_before, place] = before[hypothesis];
      if (action == options_.end) {
        add_found({state, sum, place}, true);
      } else {
        add({steps_.advance(state, action), sum, trail_.add(place, action)});
      }
    }
  }

  void add(Open open) {
    if (steps_.is_done && steps_.is_done(open.state)) {
      add_found(std::move(open), true);
    } else {
      open_.push_back(std::move(open));
    }
  }

  void add_found(Open open, bool is_complete) {
    const double score = open.sum / length_divisor(options_, length_);
    const auto behind =
        std::partition_point(found_.begin(), found_.end(), [&](const Hypothesis<State>& other) {
          return other.is_complete == is_complete ? other.score >= score : other.is_complete;
        });
    if (found_.size() == options_.n_best && behind == found_.end()) return;
    found_.insert(
        behind, {trail_.actions(open.place), open.sum, score, is_complete, std::move(open.state)});
    if (found_.size() > options_.n_best) found_.pop_back();
  }

  /// Whether nothing that is open can become better than what has been found (Huang et al. 2017,
  /// "When to Finish?"): sums of logarithms of probabilities only fall, and are divided by no more
  /// than at the last length.
  bool is_settled() const {
    if (!options_.normalise || found_.size() < options_.n_best) return false;
    const double most = length_divisor(options_, options_.max_length);
    return std::all_of(open_.begin(), open_.end(),
                       [&](const Open& open) { return open.sum / most <= found_.back().score; });
  }

  const Steps<State>& steps_;
  const SearchOptions& options_;
  std::size_t length_ = 0;  ///< of what is open
  std::vector<Open> open_;
  Trail trail_;
  std::vector<Hypothesis<State>> found_;  ///< the best first
};

}  // namespace dynet_like::nn
