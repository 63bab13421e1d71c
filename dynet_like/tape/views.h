// Views: values that lie inside others. They are recorded without a node if they are contiguous.
#pragma once

#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

/// The same elements in another shape, column-major. The minibatch dimension may change, too.
/// Throws ShapeError unless the number of elements stays the same.
ValueId reshape(TapeWriter& writer, ValueId x, const Dim& dim);

/// Elements start to start + length - 1 along dimension d. Several starts are one per minibatch
/// element. Throws ShapeError and UsageError.
ValueId pick_range(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> starts,
                   std::uint32_t length, unsigned d);

/// The same for a contiguous range and a start that is known to fit.
inline ValueId add_range(TapeWriter& writer, ValueId x, const RangeShape& range,
                         std::uint32_t start) {
  Value view = writer.tape().value(x);
  view.offset += range.inner * start;
  view.shape = range.to;
  return writer.add_view(view);
}

/// Element v of dimension d, which is removed; several elements as above. Throws as above.
ValueId pick(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> elements, unsigned d);

/// Minibatch elements `first` to first + count - 1.
ValueId pick_minibatch_elements(TapeWriter& writer, ValueId x, std::uint32_t first,
                                std::uint32_t count);

/// The same value, through which no gradient flows.
ValueId without_gradient(TapeWriter& writer, ValueId x);

/// Dimension i of the result is dimension order[i] of x.
ValueId transpose(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> order);

}  // namespace dynet_like::detail
