// How to search, and what searches do whatever their states are.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

struct SearchOptions {
  /// An action after which nothing follows, such as the end of a sentence.
  std::optional<unsigned> end = {};
  /// The most actions, the end included; with a word_beam, of the longest open hypothesis.
  std::size_t max_length = 1000;
  /// How many hypotheses are followed at once.
  std::size_t beam = 1;
  /// Above 0: hypotheses compete with those of as many words, which Steps::is_word tells, so that
  /// one that has just paid for a rare word is not lost to those that put it off (Stern et al.
  /// 2017, "Effective Inference for Generative Neural Parsing"). Of the hypotheses that have come
  /// to the next word so many go on, once there are `beam` of them or no other can be among the
  /// best.
  std::size_t word_beam = 0;
  /// So many of the best words in every step come to the next word even if their hypotheses are
  /// none of the `beam` best.
  std::size_t fast_track = 0;
  /// How many are returned, if so many are found.
  std::size_t n_best = 1;
  /// A, at least 0: hypotheses of n actions, the end included, are compared by their scores divided
  /// by ((5 + n) / 6)^A, so that longer ones have a chance (Wu et al. 2016, equation 14). These
  /// must be numbers above 0 for all n up to max_length.
  double length_penalty = 0;
  /// Divides scores: below 1, what is likely becomes more so. At least 1e-20.
  float temperature = 1;
  /// The score of a hypothesis is the sum of its actions': of their logarithms of probabilities,
  /// which are the log_softmax of the scores of all allowed ones, or of the scores as they are. By
  /// default it is the first, but for `greedy`, which does without.
  std::optional<bool> normalise = {};
};

inline bool normalises(const SearchOptions& options) { return options.normalise.value_or(true); }
/// Throws UsageError for options that make no sense.
void check(const SearchOptions& options);
/// What the sum of a hypothesis of so many actions is divided by.
double length_divisor(const SearchOptions& options, std::size_t length);
/// The scores of actions as the options want them, for so many hypotheses as minibatch elements.
/// Throws ShapeError unless they are columns that have the end action, one per hypothesis,
/// UsageError for an action that is allowed and not there.
Expression scores_as_chosen(const Expression& scores, std::size_t hypotheses,
                            const std::optional<std::vector<unsigned>>& allowed,
                            const SearchOptions& options);
/// No hypothesis can go on after so many actions.
[[noreturn]] void throw_dead_end(std::size_t actions);

}  // namespace dynet_like::nn
