// Views: reshape, contiguous ranges, minibatch elements, transposed vectors.
#include "dynet_like/tape/views.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

void check_start(const Tape& tape, ValueId x, const RangeShape& range, std::uint32_t start) {
  if (start <= range.last_start) return;
  throw ShapeError("[pick_range] need " + counted(range.length, "element") + " of dimension " +
                   std::to_string(range.d) + " from " + index_text(start) + "; got " +
                   to_string(tape.dim_of(x)) + labels_of(tape, std::span(&x, 1)));
}

const RangeShape& range_of(const Tape& tape, ValueId x, std::uint32_t length, unsigned d) {
  return with_labels(tape, std::span(&x, 1), [&]() -> const RangeShape& {
    return tape.cache().range(tape.value(x).shape, d, length);
  });
}

}  // namespace

ValueId reshape(TapeWriter& writer, ValueId x, const Dim& dim) {
  const Tape& tape = writer.tape();
  const Dim from = tape.dim_of(x);
  dim.check();
  if (from.size() != dim.size()) {
    throw ShapeError("[reshape] need a shape of " + counted(from.size(), "element") + " for " +
                     to_string(from) + "; got " + to_string(dim) +
                     labels_of(tape, std::span(&x, 1)));
  }
  if (from == dim) return x;
  // Items with gaps between them keep their number, or are first copied together.
  if (from.bd != dim.bd && !tape.is_contiguous(x)) x = writer.add(ops::identity, std::span(&x, 1));
  writer.note_read(x);
  Value view = tape.value(x);
  const std::uint32_t size = dim.batch_size();
  if (from.bd != dim.bd) view.stride = size;
  view.items = dim.bd;
  view.shape = tape.cache().shape(dim, tape.shape_of(x).dtype);
  return writer.add_view(view);
}

ValueId pick_range(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> starts,
                   std::uint32_t length, unsigned d) {
  const RangeShape& range = range_of(writer.tape(), x, length, d);
  if (starts.size() == 1 && range.is_contiguous) {
    check_start(writer.tape(), x, range, starts[0]);
    return add_range(writer, x, range, starts[0]);
  }
  const std::uint32_t attributes[] = {d, length};
  return writer.add(ops::pick_range, std::span(&x, 1), attributes, {starts});
}

ValueId pick(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> elements, unsigned d) {
  const Tape& tape = writer.tape();
  RangeShape range = range_of(tape, x, 1, d);
  if (elements.size() == 1 && range.is_contiguous) {
    check_start(tape, x, range, elements[0]);
    range.to = range.without_d;
    return add_range(writer, x, range, elements[0]);
  }
  const ValueId picked = pick_range(writer, x, elements, 1, d);
  Dim dim = tape.dim_of(picked);
  dim.delete_dim(d);
  return reshape(writer, picked, dim);
}

ValueId pick_minibatch_elements(TapeWriter& writer, ValueId x, std::uint32_t first,
                                std::uint32_t count) {
  const Tape& tape = writer.tape();
  Value view = tape.value(x);
  if (count == 0 || first >= view.items || count > view.items - first) {
    throw ShapeError("[pick_batch_elems] need elements of the minibatch of " +
                     to_string(tape.dim_of(x)) + "; got " + std::to_string(count) + " from " +
                     index_text(first) + " on" + labels_of(tape, std::span(&x, 1)));
  }
  view.offset += first * view.stride;
  view.items = count;
  return writer.add_view(view);
}

ValueId without_gradient(TapeWriter& writer, ValueId x) {
  Value view = writer.tape().value(x);
  view.blocks_gradient = true;
  view.reaches_parameter = false;
  return writer.add_view(view);
}

ValueId transpose(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> order) {
  const Tape& tape = writer.tape();
  const Dim& from = tape.shape_of(x).dim;
  const InputKey key = input_key(tape.value(x).shape, 0);
  const NodeType& type = with_labels(tape, std::span(&x, 1), [&]() -> const NodeType& {
    return tape.cache().type(ops::transpose, std::span(&key, 1), order);
  });
  // Elements only move if dimensions larger than 1 change their order.
  unsigned last = 0;
  bool moves = false;
  for (std::uint32_t d : order) {
    if (from[d] == 1) continue;
    moves |= d < last;
    last = d;
  }
  if (moves) return writer.add(ops::transpose, std::span(&x, 1), order);
  Value view = tape.value(x);
  view.shape = type.output_shape;
  return writer.add_view(view);
}

}  // namespace dynet_like::detail
