// Tags of words: how many are right, and tags of lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/data/tagged_sentences.h"
#include "nn/evaluate/span_scores.h"

namespace dynet_like::examples {

/// The words of a sentence, or their tags.
using Strings = std::vector<std::string>;
/// The tags of all words of every sentence.
using TagWords = std::function<std::vector<Strings>(const std::vector<Strings>& sentences)>;

/// The accuracy of the predicted tags.
nn::Accuracy tag_accuracy(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of);
/// Precision and recall of the spans that the tags mark. Throws as SpanScores does.
nn::SpanScores span_scores(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of);

/// Writes "word TAB tag" for every word of standard input, whose lines are sentences, and a blank
/// line after each sentence. Skips lines without words. Returns exit status 0.
int tag_lines(const TagWords& tags_of);

}  // namespace dynet_like::examples
