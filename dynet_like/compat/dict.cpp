// Dict, and sentences as numbers.
#include "dynet/dict.h"

#include <limits>
#include <sstream>

#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::UsageError;

int Dict::add(const std::string& word) {
  if (words_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw UsageError("[Dict] need at most 2^31 words; got another");
  }
  const auto [place, is_new] = ids_.emplace(word, static_cast<int>(words_.size()));
  if (is_new) words_.push_back(word);
  return place->second;
}

int Dict::convert(const std::string& word) {
  if (!frozen_) return add(word);
  const auto found = ids_.find(word);
  if (found != ids_.end()) return found->second;
  if (unk_id_ < 0) {
    throw UsageError("[Dict] need a word of the frozen dictionary, or set_unk; got \"" + word +
                     "\"");
  }
  return unk_id_;
}

const std::string& Dict::convert(int id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= words_.size()) {
    throw UsageError("[Dict] need a number below " + std::to_string(words_.size()) + "; got " +
                     std::to_string(id));
  }
  return words_[static_cast<std::size_t>(id)];
}

void Dict::set_unk(const std::string& word) {
  if (!frozen_) throw UsageError("[Dict::set_unk] need a frozen dictionary; call freeze() first");
  if (unk_id_ >= 0) {
    throw UsageError("[Dict::set_unk] need a dictionary without an unknown word; it has \"" +
                     convert(unk_id_) + "\", got \"" + word + "\"");
  }
  unk_id_ = add(word);
}

void Dict::clear() {
  words_.clear();
  ids_.clear();
  unk_id_ = -1;
}

std::vector<int> read_sentence(const std::string& line, Dict& dict) {
  std::vector<int> sentence;
  std::istringstream words(line);
  for (std::string word; words >> word;) sentence.push_back(dict.convert(word));
  return sentence;
}

void read_sentence_pair(const std::string& line, std::vector<int>& s, Dict& sd, std::vector<int>& t,
                        Dict& td) {
  std::istringstream words(line);
  bool first = true;
  for (std::string word; words >> word;) {
    if (word == "|||") {
      first = false;
    } else if (first) {
      s.push_back(sd.convert(word));
    } else {
      t.push_back(td.convert(word));
    }
  }
}

}  // namespace dynet
