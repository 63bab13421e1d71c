// Converts any text to characters of an XML or HTML document.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::detail {

/// Escapes markup. Bytes that are not UTF-8, and characters that XML does not allow, become U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace dynet_like::detail
