// DyNet's dict.h: words and numbers for each other.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace dynet {

/// Words numbered from 0 in the order in which they came.
class Dict {
 public:
  unsigned size() const { return static_cast<unsigned>(words_.size()); }
  bool contains(const std::string& word) const { return ids_.contains(word); }

  /// From now on no word is added.
  void freeze() { frozen_ = true; }
  bool is_frozen() const { return frozen_; }

  /// The number of a word; a new word is added. When frozen: the number of the unknown word
  /// instead; throws UsageError if there is none.
  int convert(const std::string& word);
  /// Throws UsageError for a number that no word has.
  const std::string& convert(int id) const;

  /// Makes a word stand for all that are not there; adds it if need be. Throws UsageError if the
  /// dictionary is not frozen or has an unknown word.
  void set_unk(const std::string& word);
  /// -1 if there is no unknown word.
  int get_unk_id() const { return unk_id_; }

  const std::vector<std::string>& get_words() const { return words_; }
  /// Forgets all words, the unknown one too. What is frozen stays so.
  void clear();

 private:
  int add(const std::string& word);

  std::vector<std::string> words_;
  std::unordered_map<std::string, int> ids_;
  int unk_id_ = -1;
  bool frozen_ = false;
};

/// The numbers of the words of a line, which white space parts.
std::vector<int> read_sentence(const std::string& line, Dict& dict);
/// Those before "|||" are added to s, those behind it to t.
void read_sentence_pair(const std::string& line, std::vector<int>& s, Dict& sd, std::vector<int>& t,
                        Dict& td);

}  // namespace dynet
