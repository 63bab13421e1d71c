// Convolutions and pooling: shifted selections of x, joined for one product or one maximum.
#include "dynet_like/graph/recording.h"

#include <algorithm>
#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

using namespace detail::recording;

namespace {

// The windows along one dimension, and the padding before and after the data.
struct Windows {
  unsigned count, width, stride, before = 0, after = 0;

  Windows(const char* user, const Expression& x, unsigned d, unsigned window, unsigned step,
          bool is_valid)
      : width(window), stride(std::min(step, x.dim()[d])) {  // there is one window at any stride
    const unsigned size = x.dim()[d];
    if (step == 0 || window == 0 || (is_valid && window > size)) {
      throw UsageError(std::string("[") + user +
                       "] need a stride of at least 1 and a window of 1 to " +
                       std::to_string(size) + "; got stride " + std::to_string(step) +
                       " and window " + std::to_string(window) + labels_of(x));
    }
    count = (is_valid ? size - window : size - 1) / stride + 1;
    const unsigned needed = (count - 1) * stride + window;
    if (!is_valid && needed > size) {
      before = (needed - size) / 2;
      after = needed - size - before;
    }
  }
};

Expression padded(const Expression& x, unsigned d, const Windows& windows, float value) {
  std::vector<Expression> parts;
  const auto add = [&](unsigned size) {
    if (size == 0) return;
    Dim dim = x.dim();
    dim.set(d, size);
    parts.push_back(constant(graph_of("pad", x), dim, value));
  };
  add(windows.before);
  parts.push_back(x);
  add(windows.after);
  return parts.size() == 1 ? x : concatenate(parts, d);
}

// For every place in a window, the elements at that place of all windows: {rows, columns,
// channels}.
std::vector<Expression> places_in_windows(const Expression& x, const Windows& rows,
                                          const Windows& columns, float padding) {
  const Expression all = padded(padded(x, 0, rows, padding), 1, columns, padding);
  const auto end = [](unsigned first, const Windows& windows) {
    return static_cast<int>(first + (windows.count - 1) * windows.stride + 1);
  };
  std::vector<Expression> places;
  for (unsigned c = 0; c < columns.width; ++c) {
    for (unsigned r = 0; r < rows.width; ++r) {
      places.push_back(strided_select(
          all, {static_cast<int>(rows.stride), static_cast<int>(columns.stride)},
          {static_cast<int>(r), static_cast<int>(c)}, {end(r, rows), end(c, columns)}));
    }
  }
  return places;
}

void check_two(const char* user, const Expression& x, const char* what,
               const std::vector<unsigned>& numbers) {
  if (numbers.size() == 2) return;
  throw UsageError(std::string("[") + user + "] need two numbers for the " + what + "; got " +
                   std::to_string(numbers.size()) + labels_of(x));
}

}  // namespace

Expression conv2d(const Expression& image, const Expression& filters_of,
                  const std::vector<unsigned>& stride, bool is_valid) {
  const auto [x, f] = of_one_graph("conv2d", image, filters_of);
  const Dim dim = x.dim(), filter = f.dim();
  check_two("conv2d", x, "stride", stride);
  if (dim.nd > 3 || filter.nd != 4 || filter[2] != dim[2]) {
    refuse_shapes("conv2d", "{height, width, channels} and {h, w, channels, filters}", {x, f});
  }
  const Windows rows("conv2d", x, 0, filter[0], stride[0], is_valid);
  const Windows columns("conv2d", x, 1, filter[1], stride[1], is_valid);
  // One product, with a row per place of the result and a column per element of a window.
  std::vector<Expression> parts;
  for (const Expression& place : places_in_windows(x, rows, columns, 0)) {
    parts.push_back(reshape(place, Dim({rows.count * columns.count, dim[2]}, dim.bd)));
  }
  const unsigned window = filter[0] * filter[1] * filter[2];
  const Expression filters =
      reshape(transpose(f, {2, 0, 1, 3}), Dim({window, filter[3]}, filter.bd));
  const Expression result = concatenate_cols(parts) * filters;
  return reshape(result, Dim({rows.count, columns.count, filter[3]}, result.dim().bd));
}
Expression conv2d(const Expression& x, const Expression& f, const Expression& b,
                  const std::vector<unsigned>& stride, bool is_valid) {
  const Expression result = conv2d(x, f, stride, is_valid);
  const Expression bias = of_one_graph("conv2d", b, result)[0];
  return result + reshape(bias, Dim({1, 1, result.dim()[2]}, b.dim().bd));
}

Expression maxpooling2d(const Expression& x, const std::vector<unsigned>& ksize,
                        const std::vector<unsigned>& stride, bool is_valid) {
  check_two("maxpooling2d", x, "window", ksize);
  check_two("maxpooling2d", x, "stride", stride);
  const Windows rows("maxpooling2d", x, 0, ksize[0], stride[0], is_valid);
  const Windows columns("maxpooling2d", x, 1, ksize[1], stride[1], is_valid);
  return max(places_in_windows(x, rows, columns, -std::numeric_limits<float>::infinity()));
}

Expression filter1d_narrow(const Expression& columns, const Expression& filters_of) {
  const auto [x, f] = of_one_graph("filter1d_narrow", columns, filters_of);
  const Dim dim = x.dim(), filter = f.dim();
  if (dim.nd > 2 || filter.nd > 3 || filter[0] != dim[0] || filter[1] > dim[1]) {
    refuse_shapes("filter1d_narrow", "{rows, columns} and {rows, width, filters}", {x, f});
  }
  const unsigned count = dim[1] - filter[1] + 1;
  std::vector<Expression> shifted;
  for (unsigned c = 0; c < filter[1]; ++c) shifted.push_back(pick_range(x, c, c + count, 1));
  const Expression filters = reshape(f, Dim({dim[0] * filter[1], filter[2]}, filter.bd));
  return transpose(filters) * concatenate(shifted, 0);
}

namespace {

// The matrix that u is multiplied with: element {i, k} is v[(i - k) mod n], or v[(i + k) mod n] for
// a correlation.
Expression circulant(const Expression& v, bool is_correlation) {
  const Dim dim = v.dim();
  const unsigned n = dim.batch_size();
  std::vector<unsigned> elements;
  for (unsigned k = 0; k < n; ++k) {
    for (unsigned i = 0; i < n; ++i) {
      elements.push_back(is_correlation ? (i + k) % n : (i + n - k) % n);
    }
  }
  return reshape(select_rows(reshape(v, Dim({n}, dim.bd)), elements), Dim({n, n}, dim.bd));
}

}  // namespace

Expression circ_conv(const Expression& u, const Expression& v) {
  return circulant(of_one_graph("circ_conv", u, v)[1], false) * u;
}
Expression circ_corr(const Expression& u, const Expression& v) {
  return circulant(of_one_graph("circ_corr", u, v)[1], true) * u;
}

}  // namespace dynet_like
