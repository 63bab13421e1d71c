// Sentences with a tag per word, from CoNLL-U files and from files with a word and a tag per line.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "nn/data/text_lines.h"

namespace dynet_like::nn {

/// Words and their tags, as many of these as of those.
struct TaggedSentence {
  std::vector<std::string> words = {}, tags = {};

  bool operator==(const TaggedSentence&) const = default;
};

/// The number of words of each sentence, to put similar ones into minibatches.
std::vector<std::uint32_t> sizes_of(std::span<const TaggedSentence> sentences);

/// The columns FORM and UPOS of the words of a CoNLL-U file. Throws as read_conllu does (see
/// conllu.h), which reads all columns.
std::vector<TaggedSentence> read_conllu_tags(const std::string& path,
                                             const TextLimits& limits = {});
std::vector<TaggedSentence> read_conllu_tags(std::istream& stream, const std::string& file,
                                             const TextLimits& limits = {});

/// Reads a file with "word TAB tag" on every line and blank lines, which may have spaces and tabs,
/// between sentences. Throws FileError where the file is missing, without sentences, too large or
/// malformed. `file` is the name of a stream in messages.
std::vector<TaggedSentence> read_columns(const std::string& path, const TextLimits& limits = {});
std::vector<TaggedSentence> read_columns(std::istream& stream, const std::string& file,
                                         const TextLimits& limits = {});

}  // namespace dynet_like::nn
