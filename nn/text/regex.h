// Regular expressions of tokenizer.json, which are in Oniguruma's syntax.
#pragma once

#include <memory>
#include <string>

#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// The matches of a regular expression. Its work is bounded: the pattern throws UsageError if it
/// would try too long. Throws UsageError for an expression that is malformed, that matches the
/// empty text, or that means something else in PCRE2 than in Oniguruma.
Pattern each_regex(const std::string& expression);

}  // namespace dynet_like::nn::text
