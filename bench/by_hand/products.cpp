// Products by blocks of a panel's rows and as many columns as there are registers for.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/by_hand/products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/lanes-inl.h"

#include <algorithm>
#include <vector>

#include "bench/by_hand/products.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::bench::by_hand::HWY_NAMESPACE {

using dynet_like::HWY_NAMESPACE::load;
using Vec = dynet_like::HWY_NAMESPACE::Lanes<float>;

// Two vectors of rows times 12 columns are 24 sums for 32 registers; others have 16.
constexpr std::size_t kVectors = 2, kColumns = Vec::size >= 16 ? 12 : 6;

std::size_t panel_rows(std::size_t rows) {
  return rows <= Vec::size ? Vec::size : kVectors * Vec::size;
}

// V vectors of rows of one panel times C columns, which lie side by side: x[term][k][column]. The
// sums are in registers only if every loop over them is unrolled.
template <std::size_t V, std::size_t C>
void multiply_block(std::span<const Term> terms, const float* x, const float* bias,
                    std::size_t panel, std::size_t rows, float* const* y, bool add) {
  Vec sums[V][C];
  HWY_UNROLL(2)
  for (std::size_t v = 0; v < V; ++v) {
    const std::size_t at = v * Vec::size;
    Vec start(0.0);
    if (bias != nullptr && at < rows) start = load(bias + at, std::min(rows - at, Vec::size));
    HWY_UNROLL(12)
    for (std::size_t c = 0; c < C; ++c) sums[v][c] = start;
  }
  for (const Term& term : terms) {
    const float* a = term.matrix->panel(panel);
    for (std::size_t k = 0; k < term.matrix->columns(); ++k, a += V * Vec::size, x += C) {
      Vec column[V];
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < V; ++v) column[v] = Vec::load(a + v * Vec::size);
      HWY_UNROLL(12)
      for (std::size_t c = 0; c < C; ++c) {
        const Vec factor(hwy::HWY_NAMESPACE::Set(Vec::Tag(), x[c]));
        HWY_UNROLL(2)
        for (std::size_t v = 0; v < V; ++v) sums[v][c] = fused(column[v], factor, sums[v][c]);
      }
    }
  }
  HWY_UNROLL(12)
  for (std::size_t c = 0; c < C; ++c) {
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < V; ++v) {
      if (v * Vec::size >= rows) break;
      float* to = y[c] + v * Vec::size;
      const std::size_t count = std::min(rows - v * Vec::size, Vec::size);
      const Vec sum = add ? load(to, count) + sums[v][c] : sums[v][c];
      store(sum, to, count);
    }
  }
}

// The next block of up to C columns, with all rows.
template <std::size_t C>
void multiply_columns(std::span<const Term> terms, const float* bias, std::size_t n,
                      std::size_t first, float* const* y, bool add, std::vector<float>& gathered) {
  if constexpr (C > 1) {
    if (n < C) return multiply_columns<C - 1>(terms, bias, n, first, y, add, gathered);
  }
  std::size_t depth = 0;
  for (const Term& term : terms) depth += term.matrix->columns();
  if (gathered.size() < depth * C) gathered.resize(depth * C);
  float* x = gathered.data();
  for (const Term& term : terms) {
    for (std::size_t k = 0; k < term.matrix->columns(); ++k, x += C) {
      for (std::size_t c = 0; c < C; ++c) x[c] = term.x[first + c][k];
    }
  }
  const std::size_t rows = terms[0].matrix->rows(), step = terms[0].matrix->panel_rows();
  float* to[C];
  for (std::size_t row = 0, panel = 0; row < rows; row += step, ++panel) {
    for (std::size_t c = 0; c < C; ++c) to[c] = y[first + c] + row;
    const float* from = bias == nullptr ? nullptr : bias + row;
    const auto block = step == Vec::size ? multiply_block<1, C> : multiply_block<kVectors, C>;
    block(terms, gathered.data(), from, panel, rows - row, to, add);
  }
}

void multiply_all(std::span<const Term> terms, const float* bias, std::size_t n, float* const* y,
                  bool add) {
  thread_local std::vector<float> gathered;
  for (std::size_t first = 0; first < n; first += std::min(n - first, kColumns)) {
    multiply_columns<kColumns>(terms, bias, n - first, first, y, add, gathered);
  }
}

}  // namespace dynet_like::bench::by_hand::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::bench::by_hand {

HWY_EXPORT(panel_rows);
HWY_EXPORT(multiply_all);

void PackedMatrix::resize(std::size_t rows, std::size_t columns) {
  rows_ = rows;
  columns_ = columns;
  panel_rows_ = HWY_DYNAMIC_DISPATCH(panel_rows)(rows);
  const std::size_t panels = (rows + panel_rows_ - 1) / panel_rows_;
  const std::size_t bytes = panels * panel_rows_ * columns * sizeof(float);
  if (block_.size() < bytes) block_ = Block(bytes);
}

void PackedMatrix::pack(const float* from, std::size_t rows, std::size_t columns) {
  resize(rows, columns);
  float* to = values();
  for (std::size_t row = 0; row < rows; row += panel_rows_) {
    const std::size_t count = std::min(panel_rows_, rows - row);
    for (std::size_t k = 0; k < columns; ++k, to += panel_rows_) {
      std::copy_n(from + k * rows + row, count, to);
      std::fill(to + count, to + panel_rows_, 0.0f);
    }
  }
}

void PackedMatrix::pack_transposed(const float* from, std::size_t rows, std::size_t columns) {
  resize(columns, rows);
  for (std::size_t row = 0; row < columns; row += panel_rows_) {
    float* to = values() + row * rows;
    const std::size_t count = std::min(panel_rows_, columns - row);
    if (count < panel_rows_) std::fill_n(to, panel_rows_ * rows, 0.0f);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < rows; ++k) to[k * panel_rows_ + i] = from[(row + i) * rows + k];
    }
  }
}

void multiply(std::span<const Term> terms, const float* bias, std::size_t n, float* const* y,
              bool add) {
  HWY_DYNAMIC_DISPATCH(multiply_all)(terms, bias, n, y, add);
}

}  // namespace dynet_like::bench::by_hand
#endif
