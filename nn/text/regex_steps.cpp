// Finds what is repeated: a character, an escape, a class or a group in front of a quantifier.
#include "nn/text/regex_steps.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/characters.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::size_t kMostOfExpression = 10'000, kMostNested = 250;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Steps {
 public:
  explicit Steps(const std::string& expression) : from_(expression) {}

  std::string add() {
    if (from_.size() > kMostOfExpression) {
      throw UsageError("a regular expression needs at most " +
                       detail::counted(kMostOfExpression, "byte") + "; got " +
                       std::to_string(from_.size()));
    }
    while (at_ < from_.size()) add_item();
    return to_;
  }

 private:
  static constexpr std::size_t kNone = std::string::npos;

  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError("a regular expression needs " + what + "; got " + detail::quoted_text(from_));
  }
  bool follows(std::string_view text) const { return from_.compare(at_, text.size(), text) == 0; }
  char next(std::size_t ahead = 1) const {
    return at_ + ahead < from_.size() ? from_[at_ + ahead] : '\0';
  }
  void take(std::size_t bytes) {
    to_.append(from_, at_, bytes);
    at_ = std::min(at_ + bytes, from_.size());
  }

  void add_item() {
    if (const std::size_t bytes = quantifier_bytes()) return repeat(bytes);
    switch (from_[at_]) {
      case '(':
        return open();
      case ')':
        if (groups_.empty()) refuse("a ( for each )");
        take(1);
        atom_ = groups_.back();
        groups_.pop_back();
        return;
      case '|':
        take(1);
        if (!groups_.empty()) to_ += kStep;
        atom_ = kNone;
        return;
      case '[':
        atom_ = to_.size();
        return take_class();
      case '\\':
        atom_ = to_.size();
        return take_escape(false);
      default:
        atom_ = to_.size();
        take(character_bytes(from_[at_]));
    }
  }

  /// Of "*", "+", "?" or "{1,2}", and a sign behind it that makes it lazy or possessive; 0 if there
  /// is none.
  std::size_t quantifier_bytes() const {
    const char c = from_[at_];
    if (c == '*' || c == '+' || c == '?') return next() == '?' || next() == '+' ? 2 : 1;
    if (c != '{') return 0;
    std::size_t bytes = 1;
    while (is_digit(next(bytes))) ++bytes;
    const bool has_least = bytes > 1;
    if (next(bytes) == ',') {
      const std::size_t comma = bytes++;
      while (is_digit(next(bytes))) ++bytes;
      if (!has_least && bytes == comma + 1) return 0;
    } else if (!has_least) {
      return 0;
    }
    if (next(bytes) != '}') return 0;
    return next(bytes + 1) == '?' ? bytes + 2 : bytes + 1;
  }

  void repeat(std::size_t bytes) {
    if (atom_ != kNone) {
      to_.insert(atom_, "(?:");
      to_ += kStep;
      to_ += ')';
    }
    take(bytes);
    atom_ = kNone;  // of "a+*", the inner repetition counts the steps
  }

  void open() {
    constexpr std::string_view kRefused[] = {"(*", "(?~", "(?(", "(?{", "(?@", "(?P"};
    for (const std::string_view refused : kRefused) {
      if (follows(refused)) refuse("no group that begins with " + std::string(refused));
    }
    if (follows("(?#")) {  // a comment, which may be between an atom and its quantifier
      std::size_t end = at_;
      while (end < from_.size() && from_[end] != ')') end += from_[end] == '\\' ? 2 : 1;
      return take(std::min(end + 1, from_.size()) - at_);
    }
    if (groups_.size() == kMostNested) refuse("at most 250 groups within each other");
    const std::size_t begin = to_.size();
    std::size_t bytes = 1;
    if (next() == '?') {
      bytes = follows("(?<=") || follows("(?<!") ? 4 : 3;
      if (follows("(?<") && bytes == 3) bytes = name_bytes('>');
      if (follows("(?'")) bytes = name_bytes('\'');
      if (std::string_view("<'=!>:").find(next(2)) == std::string_view::npos) {
        bytes = option_bytes();
        if (next(bytes - 1) == ')') {  // options of the rest of the group
          atom_ = kNone;
          return take(bytes);
        }
      }
    }
    const bool looks_behind = bytes == 4 && (follows("(?<=") || follows("(?<!"));
    take(bytes);
    if (looks_behind) to_ += kStep;
    groups_.push_back(begin);
    atom_ = kNone;
  }

  std::size_t name_bytes(char end) const {
    const std::size_t found = from_.find(end, at_ + 3);
    if (found == kNone) refuse("names of groups that end");
    return found + 1 - at_;
  }

  /// Up to the ":" or ")" behind options.
  std::size_t option_bytes() const {
    std::size_t bytes = 2;
    while (next(bytes) != ':' && next(bytes) != ')') {
      const char c = next(bytes++);
      if (c != '-' && c != 'i' && c != 'm' && c != 's') refuse("no options but i, m and s");
    }
    return bytes + 1;
  }

  void take_escape(bool in_class) {
    const char c = next();
    if (is_digit(c) && c != '0') refuse("no references to groups");
    if (c != '\0' && std::string_view("kgXyYcCM").find(c) != std::string_view::npos) {
      refuse("none of \\k, \\g, \\X, \\y, \\Y and control characters");
    }
    if ((c == 'p' || c == 'P' || c == 'x' || c == 'o') && next(2) == '{') {
      const std::size_t end = from_.find('}', at_);
      if (end == kNone) refuse("a } for each {");
      const std::string_view text = std::string_view(from_).substr(at_, end - at_);
      const bool is_property = c == 'p' || c == 'P';
      if (!is_property && text.find(' ') != kNone) refuse("one character in each \\x{}");
      if (!is_property || !take_word_property(text.substr(3))) take(end + 1 - at_);
      return;
    }
    if (c == 'R' && !in_class) {  // Oniguruma 6.9.8 does not repeat its own
      to_ += "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])";
      at_ += 2;
      return;
    }
    std::size_t bytes = 2;
    const auto take_digits = [&](std::size_t most, std::string_view digits) {
      const std::size_t begin = bytes;
      while (bytes < begin + most && next(bytes) != '\0' && digits.find(next(bytes)) != kNone) {
        ++bytes;
      }
    };
    constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF";
    if (c == 'x') take_digits(2, kHexadecimal);
    if (c == 'u') take_digits(4, kHexadecimal);
    if (c == '0') take_digits(2, "01234567");
    const bool is_byte = c == 'x' && bytes == 4 && next(2) >= '8';
    if (is_byte) refuse("characters of more than one byte as \\x{}");
    if (static_cast<unsigned char>(c) >= 0x80) bytes = 1 + character_bytes(c);
    take(bytes);
  }

  /// Since Oniguruma 6.9.9, \p{Word} is the same as \w, with the numbers of Latin-1.
  bool take_word_property(std::string_view name) {
    std::string letters;
    bool is_negated = next() == 'P';
    for (const char c : name) {
      if (c == '^') is_negated = !is_negated;
      if (c != '^' && c != ' ' && c != '-' && c != '_') letters += static_cast<char>(c | 0x20);
    }
    if (letters != "word") return false;
    to_ += is_negated ? "\\W" : "\\w";
    at_ = from_.find('}', at_) + 1;
    return true;
  }

  /// A class may have classes in it, and ends with the "]" of the first "[".
  void take_class() {
    std::size_t depth = 0;
    do {
      if (at_ >= from_.size()) refuse("a ] for each [");
      if (from_[at_] == '\\') {
        take_escape(true);
      } else if (depth > 0 && follows("[:")) {
        take_named_class();
      } else if (from_[at_] == '[') {
        if (++depth > kMostNested) refuse("at most 250 classes within each other");
        take(next() == '^' ? 2 : 1);
        if (next(0) == ']') refuse("\\] for a ] in a class");
      } else {
        if (from_[at_] == ']') --depth;
        take(character_bytes(from_[at_]));
      }
    } while (depth > 0);
  }

  /// [:alpha:] within a class. Signs belong to [:punct:] since Oniguruma 6.9.9.
  void take_named_class() {
    const bool is_negated = next(2) == '^';
    const std::size_t begin = at_ + (is_negated ? 3 : 2), end = from_.find(":]", begin);
    if (end == kNone || from_.find_first_not_of("abcdefghijklmnopqrstuvwxyz", begin) != end) {
      refuse("a class such as [:alpha:], or \\[ for a [ in a class");
    }
    if (from_.compare(begin, end - begin, "punct") != 0) return take(end + 2 - at_);
    to_ += is_negated ? "[^\\p{P}\\p{S}]" : "[\\p{P}\\p{S}]";
    at_ = end + 2;
  }

  const std::string& from_;
  std::string to_;
  std::size_t at_ = 0;
  std::size_t atom_ = kNone;         // where that begins in to_ which a quantifier would repeat
  std::vector<std::size_t> groups_;  // where open groups begin in to_
};

}  // namespace

std::string with_steps(const std::string& expression) { return Steps(expression).add(); }

}  // namespace dynet_like::nn::text
