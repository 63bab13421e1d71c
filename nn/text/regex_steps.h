// Regular expressions whose steps can be counted.
#pragma once

#include <string>

namespace dynet_like::nn::text {

/// What a regular expression of Oniguruma has where it counts a step: a callout.
inline constexpr const char* kStep = "(?{})";

/// The same expression, in Oniguruma's syntax, with a step wherever a match may try more than the
/// length of the expression: at the end of each repetition, and where an alternative or a
/// look-behind begins. Throws UsageError for parts whose work cannot be counted so, such as
/// references to groups, and for more than 10,000 bytes or 250 groups within each other.
std::string with_steps(const std::string& expression);

}  // namespace dynet_like::nn::text
