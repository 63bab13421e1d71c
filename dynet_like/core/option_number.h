// Numbers on command lines, checked as soon as they are read.
#pragma once

#include <string>

namespace dynet_like::detail {

/// From `low` to `high`, both included.
struct NumberRange {
  double low = 0, high = 0;
};
enum class NumberKind { whole, real };

/// The number that the text of an option is. Throws UsageError, which names the option, its range
/// and the text, for a text that is no number of this kind in the range.
double option_number(const std::string& option, const std::string& text, NumberKind kind,
                     const NumberRange& range);

}  // namespace dynet_like::detail
