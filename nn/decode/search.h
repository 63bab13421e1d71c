// A search over the user's steps, from its first state to its results.
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
#include "nn/decode/word_beam.h"

namespace dynet_like::nn {

/// A result of a search.
template <class State>
struct Hypothesis {
  std::vector<unsigned> actions;  ///< without the end action
  double sum = 0;                 ///< of the scores of actions, including the end
  double score = 0;               ///< `sum`, divided by the length penalty
  bool is_complete = false;       ///< false if SearchOptions::max_length ended it
  State state;                    ///< the state after these actions
};

/// How hypotheses with these scores continue: see choices.h.
using Choose = std::function<std::vector<Choice>(std::span<const double> so_far,
                                                 std::span<const Tensor> scores)>;

/// One search. Every step asks once for the scores of all open hypotheses. `States` has their
/// states: see open_states.h.
template <class States>
class Search {
 public:
  using State = typename States::State;

  /// The options must outlive the search.
  Search(States states, const SearchOptions& options)
      : options_(options), states_(std::move(states)), words_(states_, options) {
    check(options);
  }

  /// Runs the search. All hypotheses begin with the same state.
  std::vector<Hypothesis<State>> run(const State& start, std::size_t count, const Choose& choose) {
    const bool is_done = states_.begin(start, count);
    for (std::size_t i = 0; i < count; ++i) {
      open_.push_back({0, {}, 0});
      if (is_done) add_found(open_.back(), true, [&] { return start; });
    }
    if (is_done) open_.clear();
    while (!open_.empty() && length_ < options_.max_length && !is_settled()) {
      states_.drop_dead_ends(open_);
      if (!open_.empty()) follow(choose);
      if (words_.is_over(open_)) begin_word();
    }
    for (std::size_t h = 0; h < open_.size(); ++h) {
      add_found(open_[h], false, [&] { return states_.at(h); });
    }
    if (found_.empty()) throw_dead_end(length_);
    return std::move(found_);
  }

 private:
  using Words = WordBeam<States>;

  void follow(const Choose& choose) {
    sums_.clear();
    for (const Open& open : open_) sums_.push_back(open.sum);
    const std::vector<Tensor> scores = states_.scores(options_);
    std::vector<Choice> choices = choose(sums_, scores);
    words_.add_fast_track(states_, sums_, scores, choices);
    before_.swap(open_);
    open_.clear();
    for (const Choice& choice : choices) {
      const Open& before = before_[choice.hypothesis];
      Open next = {choice.score, before.place, before.length + 1};
      length_ = std::max(length_, next.length);
      if (choice.action == options_.end) {
        add_found(next, true, [&] { return states_.at(choice.hypothesis); });
        continue;
      }
      next.place = trail_.add(before.place, choice.action);
      if (words_.takes(states_, choice)) {
        words_.add({next, states_.wait(choice)});
      } else {
        go_on(next, states_.follow(choice));
      }
    }
    states_.finish_step(words_.waiting());
  }

  /// Continues with the best hypotheses that have come to the next word, and drops all others.
  void begin_word() {
    open_.clear();
    for (const auto& [open, later] : words_.best()) go_on(open, states_.follow(later));
    states_.finish_word(words_.waiting());
    words_.clear();
  }

  void go_on(const Open& open, std::optional<State> done) {
    if (done) {
      add_found(open, true, [&] { return std::move(*done); });
    } else {
      open_.push_back(open);
    }
  }

  template <class MakeState>
  void add_found(const Open& open, bool is_complete, const MakeState& state) {
    const double score = open.sum / length_divisor(options_, open.length);
    const auto behind =
        std::partition_point(found_.begin(), found_.end(), [&](const Hypothesis<State>& other) {
          return other.is_complete == is_complete ? other.score >= score : other.is_complete;
        });
    if (found_.size() == options_.n_best && behind == found_.end()) return;
    found_.insert(behind, {trail_.actions(open.place), open.sum, score, is_complete, state()});
    if (found_.size() > options_.n_best) found_.pop_back();
  }

  /// Whether no open hypothesis can become better than the found ones (Huang et al. 2017, "When to
  /// Finish?"): sums of log probabilities only decrease, and the divisor is at most that of the
  /// largest length.
  bool is_settled() const {
    if (!normalises(options_) || found_.size() < options_.n_best) return false;
    const double most = length_divisor(options_, options_.max_length);
    const auto is_behind = [&](const Open& open) { return open.sum / most <= found_.back().score; };
    return std::ranges::all_of(open_, is_behind) &&
           std::ranges::all_of(words_.waiting(), is_behind, &Words::Waiting::open);
  }

  const SearchOptions& options_;
  States states_;
  std::size_t length_ = 0;  ///< of the longest hypothesis
  std::vector<Open> open_;
  Words words_;
  Trail trail_;
  std::vector<Hypothesis<State>> found_;  ///< the best first
  // Used in one step; members so that they keep their memory.
  std::vector<double> sums_;
  std::vector<Open> before_;
};

}  // namespace dynet_like::nn
