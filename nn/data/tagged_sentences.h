// Sentences with a tag per word, from CoNLL-U files and from files with columns in every line.
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

/// What the columns of a file are; by default "word TAB tag".
struct TaggedColumns {
  std::size_t count = 2;          ///< of columns in every line; 0: as many as in the first
  std::size_t word = 0, tag = 1;  ///< their numbers, from 0
  /// Any number of spaces and tabs stands between columns, instead of one tab.
  bool by_spaces = false;
  bool comments = false;  ///< Lines in front of a sentence that begin with "#" are skipped.
  TextLimits limits = {};
};

/// The entities of CoNLL-2003: a word, its part of speech, its chunk and its entity.
inline constexpr TaggedColumns kConll2003 = {.count = 4, .word = 0, .tag = 3, .by_spaces = true};

/// Reads a file with a word and its columns on every line and blank lines, which may have spaces
/// and tabs, between sentences. Lines of the word "-DOCSTART-" end a sentence and are no part of
/// one, whatever columns they have. Throws FileError where the file is missing, without sentences,
/// too large or malformed, and UsageError for a word or tag beyond the columns. `file` is the name
/// of a stream in messages.
std::vector<TaggedSentence> read_columns(const std::string& path,
                                         const TaggedColumns& columns = {});
std::vector<TaggedSentence> read_columns(std::istream& stream, const std::string& file,
                                         const TaggedColumns& columns = {});

}  // namespace dynet_like::nn
