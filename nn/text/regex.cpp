// Oniguruma's expressions by PCRE2.
#include "nn/text/regex.h"

#include <array>
#include <cstddef>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn::text {

namespace {

constexpr std::uint32_t kMostNesting = 250;  // of parentheses
// Of steps at one place of a text: some, and so many for each byte of the text.
constexpr std::size_t kMostSteps = 10'000, kMostStepsOfByte = 20;

[[noreturn]] void refuse(std::string_view what, const std::string& expression) {
  throw UsageError("a regular expression needs " + std::string(what) + "; got " +
                   detail::quoted_text(expression));
}

/// The same expression for PCRE2, whose classes \s and \w are others.
class Translation {
 public:
  explicit Translation(const std::string& expression) : from_(expression) {}

  std::string make() {
    while (at_ < from_.size()) {
      const char c = from_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else {
        if (from_.compare(at_, 2, "(?") == 0) options();
        in_class_ = c == '[';
        take(1);
        if (in_class_ && at_ < from_.size() && from_[at_] == '^') take(1);
        if (in_class_ && at_ < from_.size() && from_[at_] == ']') take(1);
      }
    }
    return to_;
  }

 private:
  void take(std::size_t bytes) {
    to_.append(from_, at_, bytes);
    at_ += bytes;
  }

  void escape() {
    const char c = at_ + 1 < from_.size() ? from_[at_ + 1] : '\0';
    // Oniguruma's words have other numbers of Latin-1, but not of other scripts.
    constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}²³¹¼½¾";
    if (c == 's' || c == 'S') {
      to_ += c == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
    } else if (c == 'w') {
      to_ += in_class_ ? std::string(kWord) : '[' + std::string(kWord) + ']';
    } else if (c == 'W' && !in_class_) {
      to_ += "[^" + std::string(kWord) + ']';
    } else if (std::string_view("WbBhHRXGKyYMmCc").find(c) != std::string_view::npos) {
      refuse("none of \\W in a class, \\b, \\h, \\R, \\X, \\G, \\K and control characters", from_);
    } else {
      take(1);
      if (at_ < from_.size()) take(character_bytes(from_[at_]));
      return;
    }
    at_ += 2;
  }

  void class_character(char c) {
    if (from_.compare(at_, 2, "[:") == 0) {
      const std::size_t end = from_.find(":]", at_);
      if (end != from_.npos) return take(end + 2 - at_);
    }
    if (c == '[' || from_.compare(at_, 2, "&&") == 0) refuse("no classes in classes", from_);
    in_class_ = c != ']';
    take(1);
  }

  // Of options in parentheses only i is the same.
  void options() const {
    for (std::size_t i = at_ + 2; i < from_.size() && from_[i] != ':' && from_[i] != ')'; ++i) {
      const char c = from_[i];
      if (c == '=' || c == '!' || c == '<' || c == '>') return;
      if (c != 'i' && c != '-') refuse("no options but i", from_);
    }
  }

  const std::string& from_;
  std::string to_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
template <class T>
std::unique_ptr<T, Free> owned(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return std::unique_ptr<T, Free>(pointer);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

/// An expression that was compiled; several threads may use it.
class Regex {
 public:
  explicit Regex(const std::string& expression) : expression_(expression) {
    if (!detail::is_utf8(expression)) refuse("UTF-8", expression);
    const std::string translated = Translation(expression).make();
    const auto context = owned(pcre2_compile_context_create(nullptr));
    pcre2_set_parens_nest_limit(context.get(), kMostNesting);
    int error = 0;
    std::size_t place = 0;
    const std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    code_.reset(pcre2_compile(units(translated), translated.size(), options, &error, &place,
                              context.get()));
    if (code_ == nullptr) {
      std::array<PCRE2_UCHAR, 200> message{};
      pcre2_get_error_message(error, message.data(), message.size());
      refuse("the syntax of PCRE2 (" + std::string(reinterpret_cast<const char*>(message.data())) +
                 ')',
             expression);
    }
    std::uint32_t matches_empty = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty != 0) refuse("to match at least one character", expression);
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without it, matching is only slower
  }

  void find(std::string_view text, std::vector<Match>& matches) const {
    const auto data = owned(pcre2_match_data_create(1, nullptr));
    const auto limits = owned(pcre2_match_context_create(nullptr));
    const std::size_t steps = kMostSteps + kMostStepsOfByte * text.size();
    pcre2_set_match_limit(limits.get(), static_cast<std::uint32_t>(steps));
    const auto match = [&](std::size_t at, std::uint32_t options) {
      return pcre2_match(code_.get(), units(text), text.size(), at, options | PCRE2_NO_UTF_CHECK,
                         data.get(), limits.get());
    };
    const std::size_t* const found = pcre2_get_ovector_pointer(data.get());
    for (std::size_t at = 0; at < text.size(); at = found[1]) {
      int count = match(at, 0);
      if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(at, PCRE2_NO_JIT);
      if (count == PCRE2_ERROR_NOMATCH) return;
      if (count < 0) refuse("fewer steps for this text", expression_);
      // Look-arounds may match nothing after all.
      if (found[0] < at || found[1] <= found[0]) {
        refuse("to match at least one character", expression_);
      }
      matches.push_back({found[0], found[1]});
    }
  }

 private:
  std::string expression_;
  std::unique_ptr<pcre2_code, Free> code_;
};

}  // namespace

Pattern each_regex(const std::string& expression) {
  const auto regex = std::make_shared<const Regex>(expression);
  return
      [regex](std::string_view text, std::vector<Match>& matches) { regex->find(text, matches); };
}

}  // namespace dynet_like::nn::text
