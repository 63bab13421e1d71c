// The messages of expected exceptions.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace dynet_like {

/// The message of the Error that the action throws, or "nothing was thrown".
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Whether a text has this part; what does not is shown.
inline ::testing::AssertionResult mentions(std::string_view text, std::string_view part) {
  const bool found = text.find(part) != text.npos;
  return (found ? ::testing::AssertionSuccess() : ::testing::AssertionFailure())
         << "\"" << part << "\" in:\n"
         << text;
}

/// Whether a message is as expected, where "..." at the beginning or the end stands for any text.
inline bool is_message(std::string_view got, std::string_view want) {
  constexpr std::string_view any = "...";
  const bool starts = !want.starts_with(any), ends = !want.ends_with(any);
  if (!starts) want.remove_prefix(any.size());
  if (!ends) want.remove_suffix(any.size());
  if (starts && ends) return got == want;
  if (starts) return got.starts_with(want);
  return ends ? got.ends_with(want) : got.find(want) != got.npos;
}

/// Expects that the call throws an Error with this message, of which "..." may leave out the
/// beginning or the end.
template <class Error, class Call>
void expect_refused(const std::string& message, const Call& call) {
  const std::string got = message_of<Error>(call);
  EXPECT_TRUE(is_message(got, message)) << "got  " << got << "\nwant " << message;
}

}  // namespace dynet_like
