// What the fuzz targets of both readers of tagged sentences check.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/tagged_sentences.h"

namespace dynet_like::nn {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// What `read` accepts must be sentences and survive a round trip; line_of(sentence, i) writes a
/// word.
template <class Read, class LineOf>
int check_tagged_sentences(const std::uint8_t* data, std::size_t size, const Read& read,
                           const LineOf& line_of) {
  // Narrow limits, so that short inputs reach them.
  const TextLimits limits = {1000, 3000};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const std::vector<TaggedSentence> sentences = read(stream, "fuzz", limits);
    require(!sentences.empty());
    std::string text;
    for (const TaggedSentence& sentence : sentences) {
      require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        require(!sentence.words[i].empty() && !sentence.tags[i].empty());
        text += line_of(sentence, i);
      }
      text += "\n";
    }
    std::istringstream again(text);
    require(read(again, "again", TextLimits{}) == sentences);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}

}  // namespace dynet_like::nn
