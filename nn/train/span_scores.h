// Spans such as named entities that labels of words mark, and how many of them were found.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/train/metrics.h"

namespace dynet_like::nn {

/// The words from `begin` to `end` - 1.
struct TypedSpan {
  std::string type = {};
  std::size_t begin = 0, end = 0;

  auto operator<=>(const TypedSpan&) const = default;
};

/// The spans that labels mark, as CoNLL's script conlleval reads them (Tjong Kim Sang and De
/// Meulder 2003), in the schemes IOB1, IOB2 (BIO), IOE1, IOE2, BIOES, BILOU, BMES and BMEWO. A
/// label is "O", outside of all spans, or has a letter and a type x: "B-x", or "x-B" if all labels
/// have the letter behind; x may be missing with its hyphen. Where both readings fit, the letter is
/// in front.
/// - B begins a span; S, U and W are a whole one.
/// - I and M go on, E and L end: the span of the word before if it has the same type and has not
///   ended, else a span that begins with this word.
/// Throws UsageError for other labels: for parts of speech there is Accuracy.
std::vector<TypedSpan> spans_of(std::span<const std::string> labels);

/// Spans with exactly the right words and type, together and by type; and the accuracy of labels.
class SpanScores {
 public:
  /// One sentence. Throws UsageError unless there are as many labels predicted as are right, for
  /// labels that spans_of does not read, right and predicted ones together, and for letters that
  /// are on another side than those of a sentence before.
  void add(std::span<const std::string> gold, std::span<const std::string> predicted);

  const PrecisionRecall& all() const { return all_; }
  const std::map<std::string, PrecisionRecall>& by_type() const { return by_type_; }
  double f1() const { return all_.f1(); }
  const Accuracy& labels() const { return labels_; }

 private:
  PrecisionRecall all_;
  std::map<std::string, PrecisionRecall> by_type_;
  Accuracy labels_;
  std::optional<bool> letters_in_front_;  // of labels; not known while both sides fit
};

}  // namespace dynet_like::nn
