// Kernels that choose elements along a dimension, by integers or by size.
#include <algorithm>
#include <limits>
#include <numeric>

#include "dynet_like/device/cpu/column_sums.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"
#include "dynet_like/ops/row_masks.h"

namespace dynet_like::detail {

using namespace cpu;

namespace {

template <class E>
void select_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->integers;
  for (std::size_t i = 0; i < call.n; ++i) {
    const std::uint32_t* chosen = call.integers + i * count;
    const E* x = call.in[0].at<E>(i);
    E* out = call.out.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, x += axis.n * axis.inner) {
      for (std::size_t k = 0; k < count; ++k, out += axis.inner) {
        std::copy_n(x + chosen[k] * axis.inner, axis.inner, out);
      }
    }
  }
}
// An element that is chosen several times gets the sum; one that is not chosen gets zero.
template <class E>
void select_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t count = call.type->integers, block = axis.n * axis.inner;
  E* sums = call.workspace->elements<E>(block);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const std::uint32_t* chosen = call.integers + i * count;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, dx += block) {
      std::fill_n(sums, block, E(0));
      for (std::size_t k = 0; k < count; ++k, dy += axis.inner) {
        for (std::size_t e = 0; e < axis.inner; ++e) sums[chosen[k] * axis.inner + e] += dy[e];
      }
      for (std::size_t e = 0; e < block; ++e) put(sums[e], dx + e, add);
    }
  });
}

// Calls f(first row, number of rows, whether they are filled): for all rows of a mask at once if
// they agree, otherwise row by row.
template <class F>
void for_masked_rows(const Signature& type, const std::uint32_t* masks, const F& f) {
  const std::size_t rows = type.output.rows(), columns = type.output_size / rows;
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; r += kRowsOfAMask) {
      const std::uint32_t mask = masks[r / kRowsOfAMask];
      const std::size_t count = std::min<std::size_t>(kRowsOfAMask, rows - r);
      if (mask == 0 || mask == (1u << kRowsOfAMask) - 1) {
        f(c * rows + r, count, mask != 0);
        continue;
      }
      for (std::size_t i = 0; i < count; ++i) f(c * rows + r + i, 1, (mask >> i & 1) != 0);
    }
  }
}

template <class E>
void fill_rows_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    const E number = static_cast<const E*>(call.reals)[i];
    for_masked_rows(*call.type, call.integers + i * call.type->integers,
                    [&](std::size_t at, std::size_t count, bool is_filled) {
                      if (is_filled) {
                        std::fill_n(out + at, count, number);
                      } else {
                        std::copy_n(x + at, count, out + at);
                      }
                    });
  }
}
template <class E>
void fill_rows_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E* dy = call.dy.at<E>(i);
    for_masked_rows(*call.type, call.integers + i * call.type->integers,
                    [&](std::size_t at, std::size_t count, bool is_filled) {
                      for (std::size_t e = at; e < at + count; ++e) {
                        put(is_filled ? E(0) : dy[e], dx + e, add);
                      }
                    });
  });
}

// The places of a line's largest elements, in the order of places.
template <class E>
void find_largest(const E* line, const Axis& axis, std::size_t count, std::size_t* places) {
  std::size_t* all = places;
  std::iota(all, all + axis.n, std::size_t{0});
  const auto larger = [&](std::size_t a, std::size_t b) {
    return is_larger(line[a * axis.inner], line[b * axis.inner]);
  };
  std::stable_sort(all, all + axis.n, larger);
  std::sort(all, all + count);
}

template <class E>
void kmax_forward(const ForwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t k = call.type->attributes[1];
  auto* places = call.workspace->elements<std::size_t>(axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      find_largest(x + line, axis, k, places);
      E* to = out + y / axis.inner * k * axis.inner + y % axis.inner;
      for (std::size_t e = 0; e < k; ++e) to[e * axis.inner] = x[line + places[e] * axis.inner];
    });
  }
}
template <class E>
void kmax_backward(const BackwardCall& call) {
  const Axis axis = axis_of(*call.type);
  const std::size_t k = call.type->attributes[1];
  auto* places = call.workspace->elements<std::size_t>(axis.n);
  E* gradients = call.workspace->elements<E>(axis.n);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for_lines(axis, [&](std::size_t line, std::size_t y) {
      find_largest(x + line, axis, k, places);
      const E* from = dy + y / axis.inner * k * axis.inner + y % axis.inner;
      std::fill_n(gradients, axis.n, E(0));
      for (std::size_t e = 0; e < k; ++e) gradients[places[e]] = from[e * axis.inner];
      for (std::size_t e = 0; e < axis.n; ++e) {
        put(gradients[e], dx + line + e * axis.inner, add);
      }
    });
  });
}

// The range of columns of an item.
struct Segment {
  std::size_t begin, end;
  Segment(const std::uint32_t* integers, std::size_t item)
      : begin(integers[3 * item + 1]), end(integers[3 * item + 2]) {}
};

// A long chain of floats loses digits: longer segments are sums of sums of so many columns.
constexpr std::size_t kBlockColumns = 32;

template <class E>
void sum_columns(const E* x, std::size_t rows, std::size_t columns, E* out) {
  std::copy_n(x, rows, out);
  for (std::size_t c = 1; c < columns; ++c) add_column(x + c * rows, rows, out);
}

template <class E>
void sum_blocks(const E* x, std::size_t rows, std::size_t columns, E* out, double* sums) {
  std::fill_n(sums, rows, 0.0);
  for (std::size_t c = 0; c < columns; c += kBlockColumns) {
    sum_columns(x + c * rows, rows, std::min(kBlockColumns, columns - c), out);
    for (std::size_t r = 0; r < rows; ++r) sums[r] += static_cast<double>(out[r]);
  }
  std::copy_n(sums, rows, out);
}

template <class E>
void segment_sum_forward(const ForwardCall& call) {
  const std::size_t rows = call.type->output_size;
  double* sums = nullptr;
  for (std::size_t i = 0; i < call.n; ++i) {
    const Segment segment(call.integers, i);
    E* const out = call.out.at<E>(i);
    const E* x = call.in[0].at<E>(i) + segment.begin * rows;
    if (segment.begin == segment.end) {
      std::fill_n(out, rows, E(0));
      continue;
    }
    if (segment.end - segment.begin > kBlockColumns) {
      if (sums == nullptr) sums = call.workspace->elements<double>(rows);
      sum_blocks(x, rows, segment.end - segment.begin, out, sums);
    } else {
      sum_columns(x, rows, segment.end - segment.begin, out);
    }
  }
}

template <class E>
void segment_sum_backward(const BackwardCall& call) {
  const std::size_t rows = call.type->output_size;
  put_sums<E>(call, [&](std::size_t i, E* sums) {
    const Segment segment(call.integers, i);
    for (std::size_t c = segment.begin; c < segment.end; ++c) {
      add_column(call.dy.at<E>(i), rows, sums + c * rows);
    }
  });
}

// The column of the largest element of a row, the first of several.
template <class E>
std::size_t largest_of(const E* x, const Segment& segment, std::size_t rows, std::size_t row) {
  std::size_t best = segment.begin;
  for (std::size_t c = segment.begin + 1; c < segment.end; ++c) {
    if (is_larger(x[c * rows + row], x[best * rows + row])) best = c;
  }
  return best;
}

template <class E>
void segment_max_forward(const ForwardCall& call) {
  const std::size_t rows = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    const Segment segment(call.integers, i);
    E* const out = call.out.at<E>(i);
    const E* x = call.in[0].at<E>(i);
    for (std::size_t r = 0; r < rows; ++r) {
      out[r] = segment.begin == segment.end ? -std::numeric_limits<E>::infinity()
                                            : x[largest_of(x, segment, rows, r) * rows + r];
    }
  }
}
template <class E>
void segment_max_backward(const BackwardCall& call) {
  const std::size_t rows = call.type->output_size;
  put_sums<E>(call, [&](std::size_t i, E* sums) {
    const Segment segment(call.integers, i);
    if (segment.begin == segment.end) return;
    const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
    for (std::size_t r = 0; r < rows; ++r) {
      sums[largest_of(x, segment, rows, r) * rows + r] += dy[r];
    }
  });
}

}  // namespace

std::vector<KernelEntry> cpu::selection_kernels() {
  return {{"select", DYNET_LIKE_KERNELS(select_forward, select_backward)},
          {"fill_rows", DYNET_LIKE_KERNELS(fill_rows_forward, fill_rows_backward)},
          {"kmax_pooling", DYNET_LIKE_KERNELS(kmax_forward, kmax_backward)},
          {"segment_sum", DYNET_LIKE_KERNELS(segment_sum_forward, segment_sum_backward)},
          {"segment_max", DYNET_LIKE_KERNELS(segment_max_forward, segment_max_backward)}};
}

}  // namespace dynet_like::detail
