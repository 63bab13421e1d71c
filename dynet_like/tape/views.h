// Values that lie inside others: recorded without a node where they are contiguous.
#pragma once

#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

/// The same elements in another shape, column-major; the minibatch dimension may change too.
/// Throws ShapeError unless the number of elements stays.
ValueId reshape(TapeWriter& writer, ValueId x, const Dim& dim);

/// Elements start to start + length - 1 along dimension d; per minibatch element where there are
/// several starts. Throws ShapeError and UsageError.
ValueId pick_range(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> starts,
                   std::uint32_t length, unsigned d);

/// The same for a range that is contiguous, and a start that fits.
inline ValueId add_range(TapeWriter& writer, ValueId x, const RangeShape& range,
                         std::uint32_t start) {
  Value view = writer.tape().value(x);
  view.offset += range.inner * start;
  view.shape = range.to;
  return writer.add_view(view);
}

/// Element v of dimension d, which disappears; several elements as above. Throws as above.
ValueId pick(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> elements, unsigned d);

/// Minibatch elements first to first + count - 1.
ValueId pick_minibatch_elements(TapeWriter& writer, ValueId x, std::uint32_t first,
                                std::uint32_t count);

/// The same value, through which no gradient flows.
ValueId without_gradient(TapeWriter& writer, ValueId x);

/// Dimension i of the result is dimension order[i] of x.
ValueId transpose(TapeWriter& writer, ValueId x, std::span<const std::uint32_t> order);

}  // namespace dynet_like::detail
