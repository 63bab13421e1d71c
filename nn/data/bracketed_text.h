// Sentences in brackets without labels, such as the binary parses of SNLI.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "nn/data/tree.h"

namespace dynet_like::nn {

/// Reads "( ( all dogs ) ( ( not big ) sleep ) )": words and brackets, separated by spaces or tabs
/// (Bowman et al. 2015). All nodes have two children and no labels. If there are more parts, such
/// as in a sentence without brackets, they are joined from left to right. Brackets around a single
/// part change nothing. Throws FileError with `file`, and the line unless it is 0, if a bracket has
/// no words or brackets do not match.
Tree parse_bracketed_text(std::string_view text, const std::string& file,
                          std::size_t line_number = 0);

}  // namespace dynet_like::nn
