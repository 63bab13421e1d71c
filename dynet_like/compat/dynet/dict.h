// DyNet's dict.h: converts words to numbers and back.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace dynet {

/// Words, numbered from 0 in the order in which they were added.
class Dict {
 public:
  unsigned size() const { return static_cast<unsigned>(words_.size()); }
  bool contains(const std::string& word) const { return ids_.contains(word); }

  /// From now on no word is added.
  void freeze() { frozen_ = true; }
  bool is_frozen() const { return frozen_; }

  /// The number of a word. A new word is added or, if the dictionary is frozen, gets the number of
  /// the unknown word; throws UsageError if there is none.
  int convert(const std::string& word);
  /// The word with this number. Throws UsageError if there is none.
  const std::string& convert(int id) const;

  /// Makes a word stand for all unknown words, and adds it if it is new. Throws UsageError if the
  /// dictionary is not frozen, or has an unknown word already.
  void set_unk(const std::string& word);
  /// -1 if there is no unknown word.
  int get_unk_id() const { return unk_id_; }

  const std::vector<std::string>& get_words() const { return words_; }
  /// Removes all words, and the unknown word. A frozen dictionary stays frozen.
  void clear();

 private:
  int add(const std::string& word);

  std::vector<std::string> words_;
  std::unordered_map<std::string, int> ids_;
  int unk_id_ = -1;
  bool frozen_ = false;
};

/// The numbers of the words of a line, which white space separates.
std::vector<int> read_sentence(const std::string& line, Dict& dict);
/// Adds the words before "|||" to s, and those after it to t.
void read_sentence_pair(const std::string& line, std::vector<int>& s, Dict& sd, std::vector<int>& t,
                        Dict& td);

}  // namespace dynet
