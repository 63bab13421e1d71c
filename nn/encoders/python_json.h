// JSON as Python writes it.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn::encoders {

/// The same text, where the numbers NaN, Infinity and -Infinity, which JSON lacks and Python
/// writes, are texts: "NaN". So a reader can leave them out, and refuses them where it needs a
/// number.
std::string standard_json(std::string_view python);

}  // namespace dynet_like::nn::encoders
