// The one product that the Tree-LSTM by hand needs: a packed matrix times gathered columns.
#pragma once

#include <cstddef>
#include <span>

#include "dynet_like/core/memory.h"

namespace dynet_like::bench::by_hand {

/// A matrix in panels of a few vectors of rows, each panel column by column: the order in which
/// `multiply` reads it.
class PackedMatrix {
 public:
  /// Copies a column-major matrix of this shape, or its transpose.
  void pack(const float* values, std::size_t rows, std::size_t columns);
  void pack_transposed(const float* values, std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t panel_rows() const { return panel_rows_; }
  /// All columns of the rows from panel * panel_rows() on.
  const float* panel(std::size_t panel) const { return values() + panel * panel_rows_ * columns_; }

 private:
  void resize(std::size_t rows, std::size_t columns);
  float* values() const { return reinterpret_cast<float*>(block_.data()); }

  Block block_;
  std::size_t rows_ = 0, columns_ = 0, panel_rows_ = 0;
};

/// A matrix, and the column that item i multiplies with it.
struct Term {
  const PackedMatrix* matrix;
  const float* const* x;
};

/// y_i = bias + sum over the terms of A x_i, for n items; with `add` it is added to y_i. All terms
/// have the same number of rows; bias may be null.
void multiply(std::span<const Term> terms, const float* bias, std::size_t n, float* const* y,
              bool add);

}  // namespace dynet_like::bench::by_hand
