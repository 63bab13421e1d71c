// Reads numbers, and says what is wrong with a text.
#include "dynet_like/core/option_number.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

double option_number(const std::string& option, const std::string& text, NumberKind kind,
                     const NumberRange& range) {
  const bool is_whole = kind == NumberKind::whole;
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool is_read = error == std::errc() && stop == end;
  const bool is_inside = value >= range.low && value <= range.high;
  if (is_read && is_inside && (!is_whole || value == std::floor(value))) return value;
  throw UsageError(fmt::format("need a {} from {} to {} for --{}; got {}",
                               is_whole ? "whole number" : "number", range.low, range.high, option,
                               quoted_text(text)));
}

}  // namespace dynet_like::detail
