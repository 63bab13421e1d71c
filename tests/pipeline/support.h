// Hostile texts, and streams that return little at a time.
#pragma once

#include <istream>
#include <streambuf>

#include "nn/data/text.h"

namespace dynet_like::nn {

/// Words, spaces of all kinds, and bytes that are no UTF-8.
inline std::string random_text(Random& random, unsigned units) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> words =
        split_line("a I don't Zoe's . ! _ # | \\ \\s 1-2 é 你 😀 \xFF \xE4\xBD \x7F \xEF\xBB\xBF");
    words.insert(words.end(), {std::string(1, '\0'), " ", " ", " ", "\n", "\r\n", "\t", "\v",
                               "\xC2\xA0", "\xE3\x80\x80", "\n\n"});
    return words;
  }();
  std::string text;
  for (; units > 0; --units) text += all[random.below(static_cast<unsigned>(all.size()))];
  return text;
}

/// A stream whose reads return at most `size` bytes.
class SlowStream : private std::streambuf, public std::istream {
 public:
  SlowStream(std::string text, std::size_t size)
      : std::istream(this), text_(std::move(text)), size_(size) {}

 private:
  std::streambuf::int_type underflow() override {
    using traits = std::streambuf::traits_type;
    if (next_ == text_.size()) return traits::eof();
    char* const begin = text_.data() + next_;
    next_ = std::min(next_ + size_, text_.size());
    setg(begin, begin, text_.data() + next_);
    return traits::to_int_type(*begin);
  }

  std::string text_;
  std::size_t size_, next_ = 0;
};

}  // namespace dynet_like::nn
