// Spans such as named entities that labels of words mark, and how many of them were found.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
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

/// The spans that labels of the kinds IOB1, BIO (IOB2) or BIOES mark, as CoNLL's script conlleval
/// reads them (Tjong Kim Sang and De Meulder 2003). "B-x" and "S-x" begin a span of type x; "I-x"
/// and "E-x" continue one of their type, and begin one where there is none to continue: after
/// another type, "E-x", "S-x" or a word that is outside. "O" and labels without such a letter are
/// outside.
std::vector<TypedSpan> spans_of(std::span<const std::string> labels);

/// Spans with exactly the right words and type, together and by type; and the accuracy of labels.
class SpanScores {
 public:
  /// One sentence. Throws UsageError unless there are as many labels predicted as are right.
  void add(std::span<const std::string> gold, std::span<const std::string> predicted);

  const PrecisionRecall& all() const { return all_; }
  const std::map<std::string, PrecisionRecall>& by_type() const { return by_type_; }
  double f1() const { return all_.f1(); }
  const Accuracy& labels() const { return labels_; }

 private:
  PrecisionRecall all_;
  std::map<std::string, PrecisionRecall> by_type_;
  Accuracy labels_;
};

}  // namespace dynet_like::nn
