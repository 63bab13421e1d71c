// SpanChart: numbers of all spans of a sentence, by start and by end.
#pragma once

#include "nn/structured/minibatch_range.h"

namespace dynet_like::nn {

/// One number for every span of a sentence. It grows: all spans of one width at a time, {1} with a
/// minibatch element for every span, in the order of their starts. The numbers of the spans with
/// one start, or one end, are a vector: a sum over all ways to split a span is a sum of two of
/// them, for all spans of one width at once.
class SpanChart {
 public:
  /// The numbers of the spans with each of the first `count` starts, from narrow to wide. Shapes:
  /// {widths} with `count` minibatch elements.
  Expression by_start(unsigned count) const { return minibatch_range(by_start_, 0, count); }
  /// The same with each of the last `count` ends, from wide to narrow.
  Expression by_end(unsigned count) const {
    return minibatch_range(by_end_, by_end_.dim().bd - count, count);
  }

  /// Adds the next width: all spans there are at first, then one less each time.
  void add(const Expression& next) {
    const unsigned count = next.dim().bd;
    by_start_ = is_empty_ ? next : concatenate({by_start(count), next});
    by_end_ = is_empty_ ? next : concatenate({next, by_end(count)});
    is_empty_ = false;
  }

 private:
  Expression by_start_, by_end_;
  bool is_empty_ = true;
};

}  // namespace dynet_like::nn
