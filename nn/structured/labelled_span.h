// LabelledSpan: a part of a sentence, and its label.
#pragma once

namespace dynet_like::nn {

/// The words `start` to `end` - 1, counted from 0, and their label.
struct LabelledSpan {
  unsigned start = 0, end = 0, label = 0;

  bool operator==(const LabelledSpan&) const = default;
};

}  // namespace dynet_like::nn
