// Brackets without labels. A part is joined at once with the parts on its left.
#include "nn/data/bracketed_text.h"

#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/text.h"

namespace dynet_like::nn {

Tree parse_bracketed_text(std::string_view text, const std::string& file, std::size_t line_number) {
  Tree tree;
  std::vector<bool> has_part = {false};  // for the text, and for every open bracket
  const auto fail = [&] {
    throw FileError(file, "need words, in brackets that match; got " + detail::quoted_text(text),
                    line_number);
  };
  const auto end_part = [&] {
    if (has_part.back()) tree.add_parent(Tree::kNoLabel, 2);
    has_part.back() = true;
  };
  for (const std::string& word : split_line(text, TextUnit::word)) {
    if (word == "(") {
      has_part.push_back(false);
    } else if (word != ")") {
      tree.add_leaf(Tree::kNoLabel, word);
      end_part();
    } else {
      if (has_part.size() == 1 || !has_part.back()) fail();
      has_part.pop_back();
      end_part();
    }
  }
  if (has_part.size() != 1 || !has_part.back()) fail();
  return tree;
}

}  // namespace dynet_like::nn
