// A search over steps of the user, from its first state to what it has found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "nn/decode/choices.h"
#include "nn/decode/open_states.h"
#include "nn/decode/options.h"

namespace dynet_like::nn {

/// What a search has found.
template <class State>
struct Hypothesis {
  std::vector<unsigned> actions;  ///< without the end action
  double sum = 0;                 ///< of the actions' scores, the end's included
  double score = 0;               ///< the sum, divided as SearchOptions::length_penalty says
  bool is_complete = false;       ///< it has ended, and was not ended by SearchOptions::max_length
  State state;                    ///< after these actions
};

/// How hypotheses with these scores go on: see choices.h.
using Choose = std::function<std::vector<Choice>(std::span<const double> so_far,
                                                 std::span<const Tensor> scores)>;

/// One search, from its first states to what it has found. Every step asks once, for the scores of
/// all hypotheses that are open. `States` holds what is theirs: see open_states.h.
template <class States>
class Search {
 public:
  using State = typename States::State;

  /// The options must outlive the search.
  Search(States states, const SearchOptions& options)
      : options_(options), states_(std::move(states)) {
    check(options);
  }

  /// From hypotheses that begin with the same state.
  std::vector<Hypothesis<State>> run(const State& start, std::size_t count, const Choose& choose) {
    const bool is_done = states_.begin(start, count);
    for (std::size_t i = 0; i < count; ++i) {
      open_.push_back({0, {}});
      if (is_done) add_found(open_.back(), true, [&] { return start; });
    }
    if (is_done) open_.clear();
    while (!open_.empty() && length_ < options_.max_length && !is_settled()) follow(choose);
    for (std::size_t h = 0; h < open_.size(); ++h) {
      add_found(open_[h], false, [&] { return states_.at(h); });
    }
    if (found_.empty()) throw_dead_end(length_);
    return std::move(found_);
  }

 private:
  struct Open {
    double sum;
    Trail::Place place;
  };

  void follow(const Choose& choose) {
    states_.drop_dead_ends(open_);
    if (open_.empty()) return;
    sums_.clear();
    for (const Open& open : open_) sums_.push_back(open.sum);
    const std::vector<Choice> choices = choose(sums_, states_.scores(options_));
    ++length_;
    before_.swap(open_);
    open_.clear();
    for (const Choice& choice : choices) {
      const Trail::Place place = before_[choice.hypothesis].place;
      if (choice.action == options_.end) {
        const auto state = [&] { return states_.at(choice.hypothesis); };
        add_found({choice.score, place}, true, state);
        continue;
      }
      const Open next = {choice.score, trail_.add(place, choice.action)};
      if (std::optional<State> done = states_.follow(choice)) {
        add_found(next, true, [&] { return std::move(*done); });
      } else {
        open_.push_back(next);
      }
    }
    states_.finish_step();
  }

  template <class MakeState>
  void add_found(const Open& open, bool is_complete, const MakeState& state) {
    const double score = open.sum / length_divisor(options_, length_);
    const auto behind =
        std::partition_point(found_.begin(), found_.end(), [&](const Hypothesis<State>& other) {
          return other.is_complete == is_complete ? other.score >= score : other.is_complete;
        });
    if (found_.size() == options_.n_best && behind == found_.end()) return;
    found_.insert(behind, {trail_.actions(open.place), open.sum, score, is_complete, state()});
    if (found_.size() > options_.n_best) found_.pop_back();
  }

  /// Whether nothing that is open can become better than what has been found (Huang et al. 2017,
  /// "When to Finish?"): sums of logarithms of probabilities only fall, and are divided by no more
  /// than at the last length.
  bool is_settled() const {
    if (!normalises(options_) || found_.size() < options_.n_best) return false;
    const double most = length_divisor(options_, options_.max_length);
    return std::all_of(open_.begin(), open_.end(),
                       [&](const Open& open) { return open.sum / most <= found_.back().score; });
  }

  const SearchOptions& options_;
  States states_;
  std::size_t length_ = 0;  ///< of what is open
  std::vector<Open> open_;
  Trail trail_;
  std::vector<Hypothesis<State>> found_;  ///< the best first
  // Of a step; they keep their memory.
  std::vector<double> sums_;
  std::vector<Open> before_;
};

}  // namespace dynet_like::nn
