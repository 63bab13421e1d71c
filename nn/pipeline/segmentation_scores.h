// SegmentationScores: how well a text is cut into tokens, words and sentences.
#pragma once

#include <span>

#include "nn/data/conllu.h"
#include "nn/evaluate/metrics.h"

namespace dynet_like::nn {

/// Scores of the evaluation of CoNLL's shared task of 2018 (Zeman et al. 2018). A token, word or
/// sentence is right if it has the same characters of the text; spaces do not count. Where one of
/// both has multi-word tokens, their words are right if they are in the longest common subsequence
/// of forms in small letters.
struct SegmentationScores {
  PrecisionRecall tokens = {}, words = {}, sentences = {};

  /// The mean of the three F1.
  double mean() const { return (tokens.f1() + words.f1() + sentences.f1()) / 3; }
};

/// Compares two analyses of one text. Throws UsageError if the characters of their tokens differ.
SegmentationScores segmentation_scores(std::span<const ConlluSentence> gold,
                                       std::span<const ConlluSentence> found);

}  // namespace dynet_like::nn
