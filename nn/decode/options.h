// Options of searches, and parts of searches that do not depend on the kind of state.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "dynet_like/graph/expression.h"

namespace dynet_like::nn {

struct SearchOptions {
  /// The action that ends a hypothesis, such as the end of a sentence.
  std::optional<unsigned> end = {};
  /// The most actions of a hypothesis, including the end.
  std::size_t max_length = 1000;
  /// How many hypotheses are followed at once.
  std::size_t beam = 1;
  /// If above 0, hypotheses compete with those that have the same number of words (see
  /// Steps::is_word), so that one that has just paid for a rare word is not lost to those that put
  /// it off (Stern et al. 2017, "Effective Inference for Generative Neural Parsing"). Of the
  /// hypotheses that have come to the next word, the `word_beam` best continue, once there are
  /// `beam` of them or no other can become one of the best.
  std::size_t word_beam = 0;
  /// So many of the best words of every step are kept, even if they are not among the `beam` best
  /// continuations.
  std::size_t fast_track = 0;
  /// At most so many hypotheses are returned.
  std::size_t n_best = 1;
  /// A, at least 0: scores of hypotheses with n actions, including the end, are divided by ((5 + n)
  /// / 6)^A before they are compared, so that longer ones have a chance (Wu et al. 2016, equation
  /// 14). The divisors must be finite and above 0 for all n up to max_length.
  double length_penalty = 0;
  /// Divides scores: below 1, likely actions become more likely. At least 1e-20.
  float temperature = 1;
  /// Whether the score of a hypothesis is the sum of log probabilities, the log_softmax over all
  /// allowed actions, or the sum of the scores themselves. By default the former, except for
  /// `greedy`.
  std::optional<bool> normalise = {};
};

inline bool normalises(const SearchOptions& options) { return options.normalise.value_or(true); }
/// Throws UsageError for invalid options.
void check(const SearchOptions& options);
/// The divisor of the score of a hypothesis with so many actions.
double length_divisor(const SearchOptions& options, std::size_t length);
/// The scores of actions as the options want them, for `hypotheses` minibatch elements. Throws
/// ShapeError unless they are columns that include the end action, one per hypothesis; UsageError
/// if an allowed action does not exist.
Expression scores_as_chosen(const Expression& scores, std::size_t hypotheses,
                            const std::optional<std::vector<unsigned>>& allowed,
                            const SearchOptions& options);
/// Throws, because no hypothesis can continue after so many actions.
[[noreturn]] void throw_dead_end(std::size_t actions);

}  // namespace dynet_like::nn
