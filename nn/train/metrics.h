// Metrics of predictions: shares of right ones, precision and recall, perplexity, attachment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/data/conllu.h"

namespace dynet_like::nn {

// All of these count up with add(), and answer at any time. A share of nothing is 0.

/// The share of what is right.
class Accuracy {
 public:
  void add(bool is_right) { add(is_right ? 1 : 0, 1); }
  /// Throws UsageError if more are right than there are.
  void add(std::size_t right, std::size_t count);

  double value() const;
  std::size_t right() const { return right_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t right_ = 0, count_ = 0;
};

/// How much of what was found is right, and how much of what is there was found.
struct PrecisionRecall {
  std::size_t right = 0, found = 0, gold = 0;

  double precision() const;
  double recall() const;
  /// Their harmonic mean: 2 * right / (found + gold).
  double f1() const;
};

/// Classes of samples, by number.
class ClassScores {
 public:
  /// Throws UsageError for no classes.
  explicit ClassScores(std::size_t classes);

  /// Throws UsageError for a class that is not there.
  void add(std::size_t gold, std::size_t predicted);

  std::size_t classes() const { return of_class_.size(); }
  /// How often a class was predicted where another one, or itself, is right.
  std::size_t count(std::size_t gold, std::size_t predicted) const;
  /// Of one class against all others.
  const PrecisionRecall& of(std::size_t label) const;
  double accuracy() const { return micro().f1(); }
  /// All decisions together; with one class per sample all three numbers are the accuracy. Classes
  /// that do not count, such as "none", may be left out: then they are not.
  PrecisionRecall micro(std::span<const std::size_t> left_out = {}) const;
  /// The means over the classes, whether they are frequent or rare; that of F1 is not the F1 of the
  /// other two.
  struct Means {
    double precision = 0, recall = 0, f1 = 0;
  };
  Means macro(std::span<const std::size_t> left_out = {}) const;

 private:
  void check(std::size_t label) const;

  std::vector<PrecisionRecall> of_class_;
  std::vector<std::size_t> counts_;  // by gold class, then predicted
};

/// e^(mean of the negative log likelihoods), the uncertainty of a choice among so many; 1 of
/// nothing.
class Perplexity {
 public:
  /// The sum of the losses, in nats, of so many words.
  void add(double loss, std::size_t words);
  double value() const;
  /// The mean loss.
  double nats() const;

 private:
  double loss_ = 0;
  std::size_t words_ = 0;
};

/// A word's head and the label of the arc to it.
struct Arc {
  std::uint32_t head = 0;  ///< from 1; 0 is the root
  std::string label = {};
};

/// Dependency trees: the share of words with the right head (UAS), and with the right label, too
/// (LAS), as in CoNLL's shared tasks (Buchholz and Marsi 2006).
class AttachmentScores {
 public:
  AttachmentScores() = default;
  /// Of many sentences, as add() for one.
  AttachmentScores(std::span<const ConlluSentence> gold, std::span<const ConlluSentence> predicted);

  /// One sentence. Where its parts of speech are given, words that are "PUNCT" do not count. Labels
  /// are compared as they are, subtypes included. Throws UsageError unless there are equally many.
  void add(std::span<const Arc> gold, std::span<const Arc> predicted,
           std::span<const std::string> parts_of_speech = {});
  /// The same for HEAD and DEPREL; all words count. Throws UsageError where a word has no head.
  void add(const ConlluSentence& gold, const ConlluSentence& predicted);

  double unlabelled() const { return heads_.value(); }
  double labelled() const { return labels_.value(); }
  std::size_t words() const { return heads_.count(); }

 private:
  Accuracy heads_, labels_;
};

}  // namespace dynet_like::nn
