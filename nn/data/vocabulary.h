// A vocabulary: words and dense numbers for each other, with counts, saved as a text file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/data/word_normalisation.h"

namespace dynet_like::nn {

/// Words numbered 0 to size() - 1 in the order in which they came. Any bytes can be a word,
/// except none at all. The size is the number of different words, the unknown word included.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Every word is normalised first, whether it is added or looked up, or is the unknown word;
  /// word() gives what became of it.
  explicit Vocabulary(WordNormalisation normalisation) : normalisation_(normalisation) {}
  WordNormalisation normalisation() const { return normalisation_; }

  /// Counts a word and returns its id, a new one for a new word; when frozen it does what id()
  /// does. Throws UsageError for an empty word and past 2^32 - 1 words.
  std::uint32_t add(std::string_view word);
  /// The id of a word, or of the unknown word in place of a word that is not there. Throws
  /// UsageError that names the word where there is no unknown word either.
  std::uint32_t id(std::string_view word) const;
  /// The same for several words, such as those of a sentence: any range of texts.
  template <class Words>
  void add_all(const Words& words) {
    for (const auto& word : words) add(word);
  }
  template <class Words>
  std::vector<std::uint32_t> ids(const Words& words) const {
    std::vector<std::uint32_t> ids;
    for (const auto& word : words) ids.push_back(id(word));
    return ids;
  }
  bool contains(std::string_view word) const { return find(word).has_value(); }
  /// The id of a word, if it is there.
  std::optional<std::uint32_t> find(std::string_view word) const;

  /// Makes a word stand for all words that are not there; adds it, with count 0, if needed.
  /// Throws UsageError where it would have to be added to a frozen vocabulary.
  std::uint32_t set_unknown(std::string_view word);
  /// The id of the unknown word, if there is one.
  std::optional<std::uint32_t> unknown() const { return unknown_; }

  /// From now on no word is added and no count changes.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }
  /// Throws UsageError for an id that is not below size().
  const std::string& word(std::uint32_t id) const;
  std::vector<std::string> words(std::span<const std::uint32_t> ids) const;
  /// How often a word was added. Throws UsageError for an id that is not below size().
  std::uint64_t count(std::uint32_t id) const;

  /// The words that were added at least min_count times, in the same order, and the unknown word
  /// always; its count gains those of the dropped words. The result is not frozen.
  Vocabulary trimmed(std::uint64_t min_count) const;

  // As text in UTF-8: a line "word TAB count" per word in the order of the ids; the unknown word's
  // line ends in "TAB unknown". Backslash, tab, line feed and carriage return are written as \\,
  // \t, \n and \r, zero bytes and those of a word that is not UTF-8 as \x and two hexadecimal
  // digits.
  // Lines "\lower-case" and "\digits" in front say how words are normalised. What is read may lack
  // counts, which are 0 then, and is frozen, for its ids belong to a model.

  /// The text, such as for a model's metadata. Throws UsageError when empty.
  std::string to_text() const;
  /// The way back; `file` is where the text is from. Throws FileError with the line for text that
  /// is empty or malformed, a word that comes twice or is not normalised as the text says, a line
  /// over 8 MiB and a text over 1 GiB.
  static Vocabulary from_text(std::string_view text, const std::string& file);
  /// Writes the text as a file, atomically (see AtomicFile), behind a line with its checksum.
  /// Throws FileError, UsageError.
  void save(const std::string& path) const;
  /// Reads such a file, or one without a checksum. Throws FileError as from_text() does, for a file
  /// that is missing, and for lines that have not the checksum of the first one.
  static Vocabulary load(const std::string& path);

  /// A plain list of words, such as BERT's vocab.txt: line i, from 0, is the word with the id i, as
  /// it is, without escapes and counts. The result is frozen; set_unknown("[UNK]") names the word
  /// for others. Throws FileError for a list that is missing or empty, an empty line, a word that
  /// comes twice. `file` is where a text is from.
  static Vocabulary load_list(const std::string& path);
  static Vocabulary from_list(std::string_view text, const std::string& file);

 private:
  /// Lets string views be looked up without a copy.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };

  static Vocabulary read(std::istream& stream, const std::string& file);
  static Vocabulary read_list(std::istream& stream, const std::string& file);
  void append_new(const std::string& word, std::uint64_t count, const std::string& file,
                  std::size_t line);
  std::uint32_t append(std::string_view word, std::uint64_t count);
  void check_id(std::uint32_t id) const;

  std::vector<std::string> words_;
  std::vector<std::uint64_t> counts_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::optional<std::uint32_t> unknown_;
  WordNormalisation normalisation_;
  bool frozen_ = false;
};

}  // namespace dynet_like::nn
