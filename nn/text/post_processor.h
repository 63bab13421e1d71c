// The pieces that are added around one or two texts, and how places are trimmed.
#pragma once

#include <cstdint>
#include <vector>

namespace dynet_like::nn::text {

/// A place of a template: a text, or pieces that are added.
struct TemplateItem {
  int text = -1;                   ///< 0 or 1, or -1 for pieces that are added
  std::vector<std::uint32_t> ids;  ///< of these pieces
  std::uint32_t segment = 0;
};
using Template = std::vector<TemplateItem>;

/// How places are narrowed where pieces begin or end with white space.
struct Trimming {
  bool add_prefix_space = true;  ///< keeps a single space where a text begins
};

struct PostProcessor {
  std::vector<Trimming> trimmings;
  Template single = {{0, {}, 0}};
  Template pair = {{0, {}, 0}, {1, {}, 1}};
};

}  // namespace dynet_like::nn::text
