// SpanChart: a number for every span of a sentence, by start and by end.
#pragma once

#include "nn/structured/minibatch_range.h"

namespace dynet_like::nn {

/// A number for every span of a sentence. It grows by one width at a time: {1}, with a minibatch
/// element for every span, in the order of starts. The numbers of spans with the same start, or the
/// same end, are a vector. So a sum over all ways to split a span is a sum of two such vectors, for
/// all spans of one width at once.
class SpanChart {
 public:
  /// For each of the first `count` starts, the numbers of its spans, from narrow to wide. Shapes:
  /// {widths} with `count` minibatch elements.
  Expression by_start(unsigned count) const { return minibatch_range(by_start_, 0, count); }
  /// For each of the last `count` ends, the same from wide to narrow.
  Expression by_end(unsigned count) const {
    return minibatch_range(by_end_, by_end_.dim().bd - count, count);
  }

  /// Adds the next width: first one span per word, then one span fewer each time.
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
