// Sentences in brackets that have no labels, such as the binary parses of SNLI.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nn/data/tree.h"

namespace dynet_like::nn {

/// Reads "( ( all dogs ) ( ( not big ) sleep ) )": words and brackets with spaces or tabs between
/// them (Bowman et al. 2015). All nodes have two children and no labels; what has more parts, such
/// as a sentence without brackets, is read from left to right, and brackets around one part change
/// nothing. Throws FileError with `file`, and the line if it is not 0, where there are no words in
/// a bracket or brackets do not match.
Tree parse_bracketed_text(std::string_view text, const std::string& file,
                          std::size_t line_number = 0);

}  // namespace dynet_like::nn
