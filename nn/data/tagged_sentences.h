// Sentences with a tag per word, from CoNLL-U files and from files with columns in every line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/data/text_lines.h"

namespace dynet_like::nn {

/// Words and their tags, one per word.
struct TaggedSentence {
  std::vector<std::string> words = {}, tags = {};

  bool operator==(const TaggedSentence&) const = default;
};

/// The number of words of each sentence, by which similar ones are put into minibatches.
std::vector<std::uint32_t> sizes_of(std::span<const TaggedSentence> sentences);

/// The columns FORM and UPOS of a CoNLL-U file. Throws as read_conllu does, which checks all
/// columns (see conllu.h).
std::vector<TaggedSentence> read_conllu_tags(TextSource source, const TextLimits& limits = {});

/// Two columns of a CoNLL-U Plus file, by the names that its first line gives, such as "FORM" and
/// "PARSEME:MWE" in "# global.columns = ID FORM PARSEME:MWE". Words of multi-word tokens are read,
/// empty nodes are not. Throws FileError if the file is missing, without such a line, such columns
/// or sentences, too large or malformed.
std::vector<TaggedSentence> read_conllu_plus(TextSource source, const std::string& tag,
                                             const std::string& word = "FORM",
                                             const TextLimits& limits = {});

/// The columns of a file; by default "word TAB tag".
struct TaggedColumns {
  std::size_t count = 2;          ///< columns in every line; 0: as many as in the first line
  std::size_t word = 0, tag = 1;  ///< their numbers, from 0
  /// Columns are separated by any number of spaces and tabs, instead of one tab.
  bool by_spaces = false;
  bool comments = false;  ///< skip lines in front of a sentence that begin with "#"
  /// If set, malformed lines are skipped, so that their sentences lack a word, and their number is
  /// added here. If not set, such files are refused.
  std::uint64_t* skipped_lines = nullptr;
  TextLimits limits = {};
};

/// Named entities of CoNLL-2003: a word, its part of speech, its chunk and its entity.
inline constexpr TaggedColumns kConll2003 = {.count = 4, .word = 0, .tag = 3, .by_spaces = true};

/// Reads a file with a word and its tags in every line, and blank lines, which may have spaces and
/// tabs, between sentences. Lines with the word "-DOCSTART-", whatever columns they have, end a
/// sentence and are skipped. Throws FileError if the file is missing, without sentences, too large
/// or malformed, and UsageError if the word or tag is not among the columns.
std::vector<TaggedSentence> read_columns(TextSource source, const TaggedColumns& columns = {});

}  // namespace dynet_like::nn
