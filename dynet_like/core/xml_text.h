// Any text as characters of an XML or HTML document.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::detail {

/// Markup is escaped; what is no UTF-8, or no character of XML, becomes U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace dynet_like::detail
