// Metrics of predictions: accuracy, precision and recall, perplexity, attachment scores.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/data/conllu.h"

namespace dynet_like::nn {

// Each accumulates with add() and can be read at any time. A ratio without samples is 0.

/// The share of right predictions.
class Accuracy {
 public:
  void add(bool is_right) { add(is_right ? 1 : 0, 1); }
  /// Throws UsageError if `right` exceeds `count`.
  void add(std::size_t right, std::size_t count);

  double value() const;
  std::size_t right() const { return right_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t right_ = 0, count_ = 0;
};

/// Throws UsageError unless there are as many of both.
void check_as_many(std::size_t found, std::size_t gold);

/// The share of predictions that equal what they should be, in the same order; 0 without any. With
/// a member or function as `gold_of`, compares with that of each gold sample:
///
///     nn::accuracy(nn::predict(dev, label), dev, &Sample::label)
///
/// Sequences are compared as wholes; for shares of their elements, add these to an Accuracy. Throws
/// UsageError unless there are as many of both.
template <std::ranges::sized_range Found, std::ranges::sized_range Gold,
          class GoldOf = std::identity>
double accuracy(const Found& found, const Gold& gold, const GoldOf& gold_of = {}) {
  check_as_many(std::ranges::size(found), std::ranges::size(gold));
  const auto are_equal = []<class A, class B>(const A& a, const B& b) {
    constexpr bool are_numbers =
        std::integral<A> && std::integral<B> && !std::same_as<A, bool> && !std::same_as<B, bool>;
    if constexpr (are_numbers) {
      return std::cmp_equal(a, b);  // also for a signed and an unsigned one
    } else {
      return static_cast<bool>(a == b);
    }
  };
  Accuracy all;
  auto right = std::ranges::begin(gold);
  for (const auto& one : found) all.add(are_equal(one, std::invoke(gold_of, *right++)));
  return all.value();
}

/// Precision and recall, from the numbers of right, predicted (`found`) and true (`gold`) items.
struct PrecisionRecall {
  std::size_t right = 0, found = 0, gold = 0;

  double precision() const;
  double recall() const;
  /// Their harmonic mean: 2 * right / (found + gold).
  double f1() const;
};

/// Scores of a classifier; classes are numbers.
class ClassScores {
 public:
  /// Throws UsageError for no classes.
  explicit ClassScores(std::size_t classes);

  /// Throws UsageError for a class that does not exist.
  void add(std::size_t gold, std::size_t predicted);

  std::size_t classes() const { return of_class_.size(); }
  /// How often `predicted` was predicted for samples of class `gold`.
  std::size_t count(std::size_t gold, std::size_t predicted) const;
  /// The scores of one class against all others.
  const PrecisionRecall& of(std::size_t label) const;
  double accuracy() const { return micro().f1(); }
  /// Counts over all classes; precision, recall and F1 then all equal the accuracy, unless you
  /// leave out classes that do not count, such as "none".
  PrecisionRecall micro(std::span<const std::size_t> left_out = {}) const;
  /// Unweighted means over the classes. The mean of F1 is not the F1 of the other two means.
  struct Means {
    double precision = 0, recall = 0, f1 = 0;
  };
  Means macro(std::span<const std::size_t> left_out = {}) const;

 private:
  void check(std::size_t label) const;

  std::vector<PrecisionRecall> of_class_;
  std::vector<std::size_t> counts_;  // by gold class, then predicted
};

/// e^(mean of the negative log-likelihoods): as uncertain as a uniform choice among that many
/// words. 1 without words.
class Perplexity {
 public:
  /// Adds the sum of the losses, in nats, of `words` words.
  void add(double loss, std::size_t words);
  double value() const;
  /// The mean loss of a word.
  double nats() const;

 private:
  double loss_ = 0;
  std::size_t words_ = 0;
};

/// The head of a word, and the label of their arc.
struct Arc {
  std::uint32_t head = 0;  ///< from 1; 0 is the root
  std::string label = {};
};

/// Scores of dependency trees: the share of words with the right head (UAS), and with the right
/// head and label (LAS), as in CoNLL's shared tasks (Buchholz and Marsi 2006).
class AttachmentScores {
 public:
  AttachmentScores() = default;
  /// Calls add() for each pair of sentences.
  AttachmentScores(std::span<const ConlluSentence> gold, std::span<const ConlluSentence> predicted);

  /// Adds one sentence. If parts of speech are given, words with "PUNCT" do not count. Labels are
  /// compared with their subtypes. Throws UsageError unless all lists have the same size.
  void add(std::span<const Arc> gold, std::span<const Arc> predicted,
           std::span<const std::string> parts_of_speech = {});
  /// The same for the columns HEAD and DEPREL; all words count. Throws UsageError if a word has no
  /// head.
  void add(const ConlluSentence& gold, const ConlluSentence& predicted);

  double unlabelled() const { return heads_.value(); }
  double labelled() const { return labels_.value(); }
  std::size_t words() const { return heads_.count(); }

 private:
  Accuracy heads_, labels_;
};

}  // namespace dynet_like::nn
