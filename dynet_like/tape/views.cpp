// Views: reshape, contiguous ranges, minibatch elements, transposed vectors.
#include "dynet_like/tape/views.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace {

Value as_view(const Tape& tape, ValueId x) {
  Value view = tape.value(x);
  view.blocks_gradient = false;
  return view;
}

// Elements along the last dimension that is not 1 lie one behind the other.
bool is_contiguous_range(const Dim& dim, unsigned d) {
  for (unsigned i = d + 1; i < dim.nd; ++i) {
    if (dim.d[i] != 1) return false;
  }
  return true;
}

}  // namespace

ValueId reshape(Tape& tape, ValueId x, const Dim& dim) {
  const Dim from = tape.dim_of(x);
  dim.check();
  if (from.size() != dim.size()) {
    throw ShapeError("[reshape] need a shape of " + std::to_string(from.size()) + " elements for " +
                     to_string(from) + "; got " + to_string(dim));
  }
  if (from == dim) return x;
  // Items with gaps between them keep their number, or are copied together first.
  if (from.bd != dim.bd && !tape.is_contiguous(x)) x = tape.add(ops::identity, std::span(&x, 1));
  Value view = as_view(tape, x);
  const std::uint32_t size = dim.batch_size();
  if (from.bd != dim.bd) view.stride = size;
  view.items = dim.bd;
  view.shape = tape.types().shape(dim.single_batch(), tape.shape_of(x).dtype);
  return tape.add_view(x, view);
}

ValueId pick_range(Tape& tape, ValueId x, std::span<const std::uint32_t> starts,
                   std::uint32_t length, unsigned d) {
  const ShapeId shape = tape.value(x).shape;
  const std::uint32_t attributes[] = {d, length};
  if (starts.size() != 1 || !is_contiguous_range(tape.shape_of(x).dim, d)) {
    return tape.add(ops::pick_range, std::span(&x, 1), attributes, starts);
  }
  const RangeShape& range = tape.types().range(shape, d, length);
  if (starts[0] > range.last_start) {
    throw ShapeError("[pick_range] need " + std::to_string(length) + " elements of dimension " +
                     std::to_string(d) + " from " + std::to_string(starts[0]) + "; got " +
                     to_string(tape.dim_of(x)));
  }
  Value view = as_view(tape, x);
  view.offset += range.inner * starts[0];
  view.shape = range.to;
  return tape.add_view(x, view);
}

ValueId pick_minibatch_elements(Tape& tape, ValueId x, std::uint32_t first, std::uint32_t count) {
  Value view = as_view(tape, x);
  if (count == 0 || first >= view.items || count > view.items - first) {
    throw ShapeError("[pick_batch_elems] need minibatch elements " + std::to_string(first) +
                     " to " + std::to_string(std::uint64_t{first} + count) + " of " +
                     to_string(tape.dim_of(x)));
  }
  view.offset += first * view.stride;
  view.items = count;
  return tape.add_view(x, view);
}

ValueId without_gradient(Tape& tape, ValueId x) {
  Value view = as_view(tape, x);
  view.blocks_gradient = true;
  return tape.add_view(x, view);
}

ValueId transpose(Tape& tape, ValueId x, std::span<const std::uint32_t> order) {
  const Dim from = tape.shape_of(x).dim;  // a copy: interning may move shapes
  const InputKey key{tape.value(x).shape, 0};
  const NodeType& type = tape.types()[tape.types().type(ops::transpose, std::span(&key, 1), order)];
  // Elements move only if dimensions larger than 1 change their order.
  unsigned last = 0;
  bool moves = false;
  for (std::uint32_t d : order) {
    if (from[d] == 1) continue;
    moves |= d < last;
    last = d;
  }
  if (moves) return tape.add(ops::transpose, std::span(&x, 1), order);
  Value view = as_view(tape, x);
  view.shape = type.output_shape;
  return tape.add_view(x, view);
}

}  // namespace dynet_like
