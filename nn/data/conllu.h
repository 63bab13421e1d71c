// CoNLL-U: complete sentences with dependency trees, so that a file can be written back unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/dependency_tree.h"
#include "nn/data/text_lines.h"

namespace dynet_like::nn {

/// The columns after the number of a line, as they are in the file: "_" means no value.
struct ConlluColumns {
  static constexpr std::int32_t kNoHead = -1;  ///< "_" in the file

  std::string form = {}, lemma = {}, upos = {}, xpos = {}, feats = {};
  std::int32_t head = kNoHead;  ///< the number of a word, from 1, or 0 for the root
  std::string deprel = {}, deps = {}, misc = {};

  bool operator==(const ConlluColumns&) const = default;
};

/// A piece of text that consists of several words: the line "3-4" for "don't". It has no head.
struct ConlluMultiword {
  std::uint32_t first = 0, last = 0;  ///< numbers of words, from 1
  ConlluColumns columns = {};

  bool operator==(const ConlluMultiword&) const = default;
};

/// A word that is not in the text: the lines "5.1" and "5.2" follow word 5. It has no head.
struct ConlluEmptyNode {
  std::uint32_t after = 0;  ///< the number of a word, or 0
  ConlluColumns columns = {};

  bool operator==(const ConlluEmptyNode&) const = default;
};

/// A sentence: words[i] has the number i + 1. Comments, ranges and empty nodes keep their order.
struct ConlluSentence {
  std::vector<std::string> comments = {};  ///< whole lines, with the "#"
  std::vector<ConlluColumns> words = {};
  std::vector<ConlluMultiword> multiwords = {};
  std::vector<ConlluEmptyNode> empty_nodes = {};

  /// The heads of all words: heads()[i] is that of word i + 1. Throws UsageError if a word has
  /// none.
  std::vector<std::uint32_t> heads() const;
  /// The values of a column for all words, such as &ConlluColumns::form.
  using Column = std::string ConlluColumns::*;
  std::vector<std::string> column(Column column) const;
  /// The words as they are written: column(&ConlluColumns::form).
  std::vector<std::string> forms() const { return column(&ConlluColumns::form); }
  /// Sets a head or a text for every word, such as a parser's results. Throws UsageError for a
  /// wrong number of them, and for heads that are not words of the sentence.
  void set_heads(std::span<const std::uint32_t> heads);
  void set_column(Column column, std::span<const std::string> texts);
  /// The value of the comment "# key = value" or "#key=value"; keys are "sent_id" and "text", for
  /// example.
  std::optional<std::string_view> comment(std::string_view key) const;

  bool operator==(const ConlluSentence&) const = default;
};

/// The number of words of each sentence, by which similar ones are put into minibatches.
std::vector<std::uint32_t> sizes_of(std::span<const ConlluSentence> sentences);

/// The value of a key in FEATS or MISC: "Plur" for "Number" in "Case=Nom|Number=Plur".
std::optional<std::string_view> conllu_value(std::string_view column, std::string_view key);

/// Reads a CoNLL-U file (Nivre et al. 2020; universaldependencies.org/format.html). Checks that
/// there are ten columns, none of them empty, that numbers are in order, and that heads are words
/// or 0; not that they make a tree. Throws FileError if the file is missing, without sentences, too
/// large or malformed.
std::vector<ConlluSentence> read_conllu(TextSource source, const TextLimits& limits = {});

/// The text of a file. It has the bytes of the file that was read, if its lines ended in "\n" and
/// its sentences in one blank line. Throws UsageError for sentences that the format does not allow:
/// no words, an empty column or one with a tab or a line end, heads that are not words, numbers out
/// of order.
std::string to_conllu(std::span<const ConlluSentence> sentences);
/// Writes such a file, atomically (see AtomicFile). Throws FileError, UsageError.
void write_conllu(const std::string& path, std::span<const ConlluSentence> sentences);

}  // namespace dynet_like::nn
