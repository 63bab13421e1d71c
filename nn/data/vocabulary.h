// A vocabulary: converts words to consecutive numbers and back, counts them, saves them as text.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/data/word_normalisation.h"

namespace dynet_like::nn {

class TextSource;
struct TextLine;

/// Words, numbered 0 to size() - 1 in the order in which they were added. A word is any sequence of
/// bytes that is not empty. The size includes the unknown word.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Normalises every word before it is added, looked up, or made the unknown word. word() returns
  /// the normalised form.
  explicit Vocabulary(WordNormalisation normalisation) : normalisation_(normalisation) {}
  WordNormalisation normalisation() const { return normalisation_; }

  /// Counts a word and returns its id. A new word gets a new id; if the vocabulary is frozen, it
  /// does the same as id(). Throws UsageError for an empty word and past 2^32 - 1 words.
  std::uint32_t add(std::string_view word);
  /// The id of a word, or of the unknown word if the word is not there. If there is no unknown
  /// word, throws UsageError that names the word.
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
  /// The id of a word, or nothing if it is not there.
  std::optional<std::uint32_t> find(std::string_view word) const;

  /// Makes a word stand for all words that are not there. Adds it, with count 0, if it is new.
  /// Throws UsageError if it is new and the vocabulary is frozen.
  std::uint32_t set_unknown(std::string_view word);
  /// The id of the unknown word. Without one, `unknown().value()` throws, and so does `id` for a
  /// word that is not there.
  std::optional<std::uint32_t> unknown() const { return unknown_; }

  /// From now on no word is added and no count changes.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }
  /// The word with this id. Throws UsageError unless it is below size().
  const std::string& word(std::uint32_t id) const;
  std::vector<std::string> words(std::span<const std::uint32_t> ids) const;
  /// How often a word was added. Throws UsageError unless the id is below size().
  std::uint64_t count(std::uint32_t id) const;

  /// The words that were added at least min_count times, in the same order, and always the unknown
  /// word, to whose count those of the dropped words are added. The result is not frozen.
  Vocabulary trimmed(std::uint64_t min_count) const;

  // As text in UTF-8: a line "word TAB count" per word in the order of the ids; the unknown word's
  // line ends in "TAB unknown". Backslash, tab, line feed and carriage return are written as \\,
  // \t, \n and \r; zero bytes, and all bytes of a word that is not UTF-8, as \x and two hexadecimal
  // digits. Lines "\lower-case" and "\digits" at the beginning say how words are normalised. A text
  // may lack counts, which are then 0. A vocabulary that was read is frozen, since its ids belong
  // to a model.

  /// The text, for example for a model's metadata. Throws UsageError if there are no words.
  std::string to_text() const;
  /// Reads such a text; `file` says where it is from. Throws FileError with the line if the text is
  /// empty or malformed, if a word occurs twice or is not normalised as the text says, for a line
  /// over 8 MiB and a text over 1 GiB.
  static Vocabulary from_text(std::string_view text, const std::string& file);
  /// Writes a file, atomically (see AtomicFile): a line with a checksum, then the text. Throws
  /// FileError, UsageError.
  void save(const std::string& path) const;
  /// Reads such a file, or one without a checksum. Throws FileError as from_text() does, and if the
  /// file is missing or does not fit its checksum.
  static Vocabulary load(const std::string& path);

  /// Reads a plain list of words, such as BERT's vocab.txt: line i, from 0, is the word with the id
  /// i, without escapes and counts. The result is frozen; call set_unknown("[UNK]") to name the
  /// word for others. Throws FileError if the list is missing or empty, for an empty line, and for
  /// a word that occurs twice. `file` says where a text is from.
  static Vocabulary load_list(const std::string& path);
  static Vocabulary from_list(std::string_view text, const std::string& file);

 private:
  /// Lets the map find string views without a copy.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };

  static Vocabulary read(TextSource source);
  static Vocabulary read_list(TextSource source);
  void append_new(std::string_view word, std::uint64_t count, const TextLine& line);
  std::uint32_t append(std::string_view word, std::uint64_t count);
  void check_id(std::uint32_t id) const;

  std::vector<std::string> words_;
  std::vector<std::uint64_t> counts_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::optional<std::uint32_t> unknown_;
  WordNormalisation normalisation_;
  bool frozen_ = false;
};

/// The words of all samples, numbered in the order in which they occur. `words_of` is a member or
/// function that gives the words of a sample, or one word, such as a label. If `unknown` is given,
/// this word comes first, and stands for all others:
///
///     vocabulary_of(sentences, &TaggedSentence::words, "<unknown>")
template <class Samples, class WordsOf>
requires std::invocable<const WordsOf&, const typename Samples::value_type&> Vocabulary
vocabulary_of(const Samples& samples, const WordsOf& words_of, std::string_view unknown = {}) {
  Vocabulary vocabulary;
  if (!unknown.empty()) vocabulary.set_unknown(unknown);
  for (const auto& sample : samples) {
    const auto& words = std::invoke(words_of, sample);
    if constexpr (std::convertible_to<decltype(words), std::string_view>) {
      vocabulary.add(words);
    } else {
      vocabulary.add_all(words);
    }
  }
  return vocabulary;
}

}  // namespace dynet_like::nn
