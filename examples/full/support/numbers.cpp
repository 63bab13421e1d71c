// Reads numbers, and says what is wrong with a text.
#include "examples/full/support/numbers.h"

#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::examples {

double number_in(const Range& range, NumberKind kind, const std::string& option,
                 const std::string& text) {
  const bool is_whole = kind == NumberKind::whole;
  std::istringstream in(text);
  double value = 0;
  const bool is_read = (in >> value) && in.peek() == std::istringstream::traits_type::eof();
  const bool is_inside = value >= range.low && value <= range.high;
  if (is_read && is_inside && (!is_whole || value == std::floor(value))) return value;
  throw UsageError(fmt::format("need a {} from {} to {} for --{}; got {}",
                               is_whole ? "whole number" : "number", range.low, range.high, option,
                               detail::quoted_text(text)));
}

}  // namespace dynet_like::examples
