// What charts over spans share: views of minibatch elements, and values by start and by end.
#pragma once

#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// Minibatch elements first to first + count - 1, without a copy: how many there are is data of a
/// node, not its type, so that sentences of different lengths share batches.
inline Expression minibatch_range(const Expression& x, unsigned first, unsigned count) {
  Dim dim = x.dim();
  if (count == dim.bd) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  dim.bd = count;
  return reshape(pick_range(columns, first, first + count, 1), dim);
}

/// One number for every span of a sentence. It grows: all spans of one width at a time, {1} with a
/// minibatch element for every span, in the order of their starts. The numbers of the spans with
/// one start, or one end, are a vector: a sum over all ways to split a span is a sum of two of
/// them, for all spans of one width at once.
class SpanChart {
 public:
  explicit SpanChart(const Expression& narrowest) : by_start_(narrowest), by_end_(narrowest) {}

  /// The numbers of the spans with each of the first `count` starts, from narrow to wide. Shapes:
  /// {widths} with `count` minibatch elements.
  Expression by_start(unsigned count) const { return minibatch_range(by_start_, 0, count); }
  /// The same with each of the last `count` ends, from wide to narrow.
  Expression by_end(unsigned count) const {
    return minibatch_range(by_end_, by_end_.dim().bd - count, count);
  }

  /// Adds the next width: fewer spans than before.
  void add(const Expression& wider) {
    const unsigned count = wider.dim().bd;
    by_start_ = concatenate({by_start(count), wider});
    by_end_ = concatenate({wider, by_end(count)});
  }

 private:
  Expression by_start_, by_end_;
};

}  // namespace dynet_like::nn
