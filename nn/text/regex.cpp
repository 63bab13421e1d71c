// Calls Oniguruma, with a limit of steps for each text.
#include "nn/text/regex.h"

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <optional>

#include <oniguruma.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/regex_steps.h"

namespace dynet_like::nn::text {

namespace {

// Of steps for a text: some, and so many for each byte.
constexpr std::size_t kMostSteps = 10'000, kMostStepsOfByte = 16;
// What is tried later needs 50 bytes each.
constexpr unsigned kMostTriedLater = 1 << 24;
constexpr unsigned long kNoLimit = std::numeric_limits<unsigned long>::max();  // steps have one

[[noreturn]] void refuse(const std::string& what, const std::string& expression) {
  throw UsageError("a regular expression needs " + what + "; got " +
                   detail::quoted_text(expression));
}

const OnigUChar* units(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

struct Free {
  void operator()(OnigRegex regex) const { onig_free(regex); }
  void operator()(OnigMatchParam* parameters) const { onig_free_match_param(parameters); }
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;
using OwnedRegex = Owned<std::remove_pointer_t<OnigRegex>>;
template <class T>
Owned<T> owned(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return Owned<T>(pointer);
}

std::string message_of(int code, OnigErrorInfo* info) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> message{};
  const int size = onig_error_code_to_str(message.data(), code, info);
  return detail::visible_text(
      {reinterpret_cast<const char*>(message.data()), static_cast<std::size_t>(std::max(size, 0))});
}

OwnedRegex compiled(const std::string& text, const std::string& expression) {
  OnigRegex regex = nullptr;
  OnigErrorInfo info{};
  const int code = onig_new(&regex, units(text), units(text) + text.size(), ONIG_OPTION_NONE,
                            ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  if (code == ONIGERR_MEMORY) throw std::bad_alloc();
  if (code != ONIG_NORMAL) {
    refuse("the syntax of Oniguruma (" + message_of(code, &info) + ')', expression);
  }
  return OwnedRegex(regex);
}

/// An expression that was compiled; several threads may use it.
class Regex {
 public:
  explicit Regex(const std::string& expression) : expression_(expression) {
    static const int initialised = [] {
      OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
      return onig_initialize(encodings, 1);
    }();
    if (initialised != ONIG_NORMAL) throw std::bad_alloc();
    if (!detail::is_utf8(expression)) refuse("UTF-8", expression);
    const std::string counted = with_steps(expression);
    compiled(expression, expression);  // steps may make a quantifier valid that is not
    regex_ = compiled(counted, expression);
  }

  void find(std::string_view text, std::vector<Match>& matches) const {
    std::size_t steps = kMostSteps + kMostStepsOfByte * text.size();
    const auto limits = owned(onig_new_match_param());
    onig_set_progress_callout_of_match_param(limits.get(), count_step);
    onig_set_callout_user_data_of_match_param(limits.get(), &steps);
    onig_set_retry_limit_in_match_of_match_param(limits.get(), kNoLimit);
    onig_set_match_stack_limit_size_of_match_param(limits.get(), kMostTriedLater);
    const auto region = owned(onig_region_new());
    const OnigUChar *const begin = units(text), *const end = begin + text.size();
    std::optional<std::size_t> last;  // the end of the last match
    for (std::size_t at = 0; at <= text.size();) {
      const int code = onig_search_with_param(regex_.get(), begin, end, begin + at, end,
                                              region.get(), ONIG_OPTION_NONE, limits.get());
      if (code == ONIG_MISMATCH) return;
      if (code == ONIGERR_MEMORY) throw std::bad_alloc();
      if (code == ONIG_ABORT || code == ONIGERR_MATCH_STACK_LIMIT_OVER) {
        refuse("fewer steps for this text", expression_);
      }
      if (code < 0) refuse("to be run (" + message_of(code, nullptr) + ')', expression_);
      const Match match = {static_cast<std::size_t>(region->beg[0]),
                           static_cast<std::size_t>(region->end[0])};
      if (match.begin > match.end || match.begin < last.value_or(0)) {
        refuse("matches behind each other", expression_);  // \K changes where they begin
      }
      if (match.begin == match.end && last == match.end) {  // nothing, right behind a match
        at += at < text.size() ? character_bytes(text[at]) : 1;
        continue;
      }
      matches.push_back(match);
      last = at = match.end;
    }
  }

 private:
  static int count_step(OnigCalloutArgs*, void* steps) {
    return --*static_cast<std::size_t*>(steps) > 0 ? ONIG_CALLOUT_SUCCESS : ONIG_ABORT;
  }

  std::string expression_;
  OwnedRegex regex_;
};

}  // namespace

Pattern each_regex(const std::string& expression) {
  const auto regex = std::make_shared<const Regex>(expression);
  return
      [regex](std::string_view text, std::vector<Match>& matches) { regex->find(text, matches); };
}

}  // namespace dynet_like::nn::text
