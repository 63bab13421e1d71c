// Regular expressions of tokenizer.json, by Oniguruma, as in the reference.
#pragma once

#include <string>

#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// The matches of a regular expression, which may be empty. The work for a text is bounded: the
/// pattern throws UsageError if it would take more than 10,000 steps and 16 for each byte. Throws
/// UsageError for an expression that is malformed, or whose steps cannot be counted.
Pattern each_regex(const std::string& expression);

}  // namespace dynet_like::nn::text
