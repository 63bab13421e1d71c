// Spans, such as named entities, that labels of words mark, and scores for finding them.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/structured/labelled_span.h"
#include "nn/evaluate/metrics.h"

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
/// have the letter last. The hyphen and x may be missing. If both readings are possible, the letter
/// comes first.
/// - B begins a span; S, U and W mark a span of one word.
/// - I and M continue, E and L end the span of the previous word if it has the same type and has
/// not ended; otherwise they begin a span.
/// Throws UsageError for other labels, such as parts of speech: use Accuracy for these.
std::vector<TypedSpan> spans_of(std::span<const std::string> labels);

/// Scores of spans, which are right if all words and the type are right: for all spans and by type.
/// Also the accuracy of labels.
class SpanScores {
 public:
  /// Adds one sentence. Throws UsageError unless both lists have the same size and spans_of can
  /// read them together, with the letters on the same side as in earlier sentences.
  void add(std::span<const std::string> gold, std::span<const std::string> predicted);
  /// Adds the spans of one sentence, in any order, as parsers and segment models find them (Black
  /// et al. 1991). Their types are the numbers of their labels, as texts. Leave out spans that do
  /// not count, such as words.
  void add(std::span<const LabelledSpan> gold, std::span<const LabelledSpan> predicted);

  const PrecisionRecall& all() const { return all_; }
  const std::map<std::string, PrecisionRecall>& by_type() const { return by_type_; }
  double f1() const { return all_.f1(); }
  const Accuracy& labels() const { return labels_; }

 private:
  void count(std::vector<TypedSpan> gold, std::vector<TypedSpan> found);

  PrecisionRecall all_;
  std::map<std::string, PrecisionRecall> by_type_;
  Accuracy labels_;
  std::optional<bool> letters_in_front_;  // of labels; empty while both sides fit
};

}  // namespace dynet_like::nn
