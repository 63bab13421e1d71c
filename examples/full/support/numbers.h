// Numbers on command lines, checked as soon as they are read.
#pragma once

#include <string>

namespace dynet_like::examples {

/// From `low` to `high`, both included.
struct Range {
  double low = 0, high = 0;
};
enum class NumberKind { whole, real };

/// The number that the text of an option is. Throws UsageError, which names the option, its range
/// and the text, for a text that is no number of this kind in the range.
double number_in(const Range& range, NumberKind kind, const std::string& option,
                 const std::string& text);

}  // namespace dynet_like::examples
