// Tags of the words of sentences: how many are right, and those of lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nn/data/tagged_sentences.h"
#include "nn/train/span_scores.h"

namespace dynet_like::examples {

/// The words of a sentence, or their tags.
using Strings = std::vector<std::string>;
/// The tags of the words of every sentence, as many as there are words.
using TagWords = std::function<std::vector<Strings>(const std::vector<Strings>& sentences)>;

/// The number of words of each sentence.
std::vector<std::uint32_t> sizes_of(const std::vector<Strings>& sentences);

/// How many of the tags that are found for these sentences are right. Throws UsageError, as do the
/// others, unless every word has one.
nn::Accuracy tag_accuracy(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of);
/// The same, and how many of the spans that they mark. Throws as SpanScores does.
nn::SpanScores span_scores(const std::vector<nn::TaggedSentence>& gold, const TagWords& tags_of);

/// Writes "word TAB tag" for every word of standard input, where a line is a sentence, and a blank
/// line behind each. Lines without words are left out. Returns exit status 0.
int tag_lines(const TagWords& tags_of);

}  // namespace dynet_like::examples
