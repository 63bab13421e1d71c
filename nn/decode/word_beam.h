// The hypotheses of a word-synchronous search that have come to the next word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/decode/choices.h"
#include "nn/decode/options.h"

namespace dynet_like::nn {

/// An open hypothesis.
struct Open {
  double sum;
  Trail::Place place;  ///< after its actions
  std::size_t length;
};

/// Hypotheses whose next action is a word wait here until there are enough of them (Stern et al.
/// 2017). Without SearchOptions::word_beam, none waits. `States` is described in open_states.h.
template <class States>
class WordBeam {
 public:
  struct Waiting {
    Open open;  ///< after the word
    typename States::Later later;
  };

  /// The options must outlive it. Throws UsageError if there is no function that tells words.
  WordBeam(const States& states, const SearchOptions& options) : options_(options) {
    if (options.word_beam > 0 && !states.knows_words()) {
      throw UsageError("[decode] word_beam: need Steps with is_word; got none");
    }
  }

  bool takes(const States& states, const Choice& choice) const {
    return options_.word_beam > 0 && states.is_word(choice.hypothesis, choice.action);
  }
  /// Inserts it after all that are as good.
  void add(const Waiting& waiting) {
    const auto place = std::ranges::upper_bound(waiting_, waiting.open.sum, std::greater<>{},
                                                [](const Waiting& w) { return w.open.sum; });
    waiting_.insert(place, waiting);
  }
  /// Adds the best words of a step that are not among its choices.
  void add_fast_track(const States& states, std::span<const double> so_far,
                      std::span<const Tensor> scores, std::vector<Choice>& choices) const {
    if (options_.fast_track == 0) return;
    const auto is_word = [&](std::size_t hypothesis, unsigned action) {
      return action != options_.end && states.is_word(hypothesis, action);
    };
    for (const Choice& word : best_choices(so_far, scores, options_.fast_track, is_word)) {
      if (std::ranges::find(choices, word) == choices.end()) choices.push_back(word);
    }
  }
  /// Whether enough hypotheses wait, or no open one can become one of the best, because sums of log
  /// probabilities only decrease.
  bool is_over(std::span<const Open> open) const {
    if (waiting_.empty()) return false;
    if (open.empty() || waiting_.size() >= options_.beam) return true;
    if (!normalises(options_) || waiting_.size() < options_.word_beam) return false;
    const double least = waiting_[options_.word_beam - 1].open.sum;
    return std::ranges::all_of(open, [&](const Open& one) { return one.sum <= least; });
  }

  /// The best first.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  std::span<const Waiting> best() const {
    return std::span(waiting_).first(std::min(options_.word_beam, waiting_.size()));
  }
  void clear() { waiting_.clear(); }

 private:
  const SearchOptions& options_;
  std::vector<Waiting> waiting_;
};

}  // namespace dynet_like::nn
