// One pass over the elements per node and direction.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/by_hand/cells.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/math-inl.h"

#include "bench/by_hand/cells.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::bench::by_hand::HWY_NAMESPACE {

using dynet_like::HWY_NAMESPACE::for_lanes;
using dynet_like::HWY_NAMESPACE::load;
using Vec = dynet_like::HWY_NAMESPACE::Lanes<float>;

// Slopes by the value of the function.
HWY_INLINE Vec logistic_slope(Vec y) { return y * (Vec(1) - y); }
HWY_INLINE Vec tanh_slope(Vec y) { return Vec(1) - y * y; }

void leaf_forward(std::size_t n, const Cell& cell) {
  float *gates_i = cell.gates, *gates_o = gates_i + n, *gates_u = gates_o + n;
  for_lanes<float>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Vec i = logistic(load(gates_i + at, count)), o = logistic(load(gates_o + at, count));
    const Vec u = tanh(load(gates_u + at, count)), c = i * u;
    store(i, gates_i + at, count);
    store(o, gates_o + at, count);
    store(u, gates_u + at, count);
    store(c, cell.c + at, count);
    store(o * tanh(c), cell.h + at, count);
  });
}

void inner_forward(std::size_t n, const Cell& cell, const Cell& left, const Cell& right) {
  float *gates_l = cell.gates, *gates_r = gates_l + n, *gates_i = gates_r + n;
  float *gates_o = gates_i + n, *gates_u = gates_o + n;
  for_lanes<float>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Vec f_l = logistic(load(gates_l + at, count)), f_r = logistic(load(gates_r + at, count));
    const Vec i = logistic(load(gates_i + at, count)), o = logistic(load(gates_o + at, count));
    const Vec u = tanh(load(gates_u + at, count));
    const Vec c = i * u + f_l * load(left.c + at, count) + f_r * load(right.c + at, count);
    store(f_l, gates_l + at, count);
    store(f_r, gates_r + at, count);
    store(i, gates_i + at, count);
    store(o, gates_o + at, count);
    store(u, gates_u + at, count);
    store(c, cell.c + at, count);
    store(o * tanh(c), cell.h + at, count);
  });
}

// The gradients of the sums of i, o and u; returns that of c.
HWY_INLINE Vec output_backward(std::size_t n, const Cell& cell, float* gates, std::size_t at,
                               std::size_t count) {
  const Vec i = load(gates + at, count), o = load(gates + n + at, count);
  const Vec u = load(gates + 2 * n + at, count), dh = load(cell.dh + at, count);
  const Vec tanh_c = tanh(load(cell.c + at, count));
  const Vec dc = load(cell.dc + at, count) + dh * o * tanh_slope(tanh_c);
  store(dc * u * logistic_slope(i), gates + at, count);
  store(dh * tanh_c * logistic_slope(o), gates + n + at, count);
  store(dc * i * tanh_slope(u), gates + 2 * n + at, count);
  return dc;
}

void leaf_backward(std::size_t n, const Cell& cell) {
  for_lanes<float>(n, [&](std::size_t at, std::size_t count)
                          HWY_ATTR { output_backward(n, cell, cell.gates, at, count); });
}

void inner_backward(std::size_t n, const Cell& cell, const Cell& left, const Cell& right) {
  float *gates_l = cell.gates, *gates_r = gates_l + n;
  for_lanes<float>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    const Vec f_l = load(gates_l + at, count), f_r = load(gates_r + at, count);
    const Vec dc = output_backward(n, cell, cell.gates + 2 * n, at, count);
    store(dc * load(left.c + at, count) * logistic_slope(f_l), gates_l + at, count);
    store(dc * load(right.c + at, count) * logistic_slope(f_r), gates_r + at, count);
    store(dc * f_l, left.dc + at, count);
    store(dc * f_r, right.dc + at, count);
  });
}

// Sixteen classes at most: as many nodes at a time as there are lanes, a class per vector.
double softmax_losses(std::size_t n, std::size_t classes, float* scores, const unsigned* labels,
                      bool with_gradient) {
  double sum = 0;
  for_lanes<float>(n, [&](std::size_t at, std::size_t count) HWY_ATTR {
    float buffer[Vec::size] = {};
    Vec x[16], shift, total(0.0);
    for (std::size_t k = 0; k < classes; ++k) {
      for (std::size_t i = 0; i < count; ++i) buffer[i] = scores[(at + i) * classes + k];
      x[k] = Vec::load(buffer);
      shift = k == 0 ? x[0] : max(shift, x[k]);
    }
    for (std::size_t k = 0; k < classes; ++k) total = total + (x[k] = exp(x[k] - shift));
    (log(total) + shift).store(buffer);
    for (std::size_t i = 0; i < count; ++i) {
      sum += static_cast<double>(buffer[i] - scores[(at + i) * classes + labels[at + i]]);
    }
    if (!with_gradient) return;
    for (std::size_t k = 0; k < classes; ++k) {
      (x[k] / total).store(buffer);
      for (std::size_t i = 0; i < count; ++i) {
        scores[(at + i) * classes + k] = buffer[i] - (labels[at + i] == k ? 1.0f : 0.0f);
      }
    }
  });
  return sum;
}

void add_rows(std::size_t n, std::size_t size, const float* x, float* sum) {
  for (; n > 0; --n, x += size) {
    for_lanes<float>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
      store(load(sum + at, count) + load(x + at, count), sum + at, count);
    });
  }
}

void add_scaled(std::size_t size, float factor, const float* x, float* y) {
  const Vec scale(static_cast<double>(factor));
  for_lanes<float>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
    store(fused(scale, load(x + at, count), load(y + at, count)), y + at, count);
  });
}

}  // namespace dynet_like::bench::by_hand::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::bench::by_hand {

HWY_EXPORT(leaf_forward);
HWY_EXPORT(inner_forward);
HWY_EXPORT(leaf_backward);
HWY_EXPORT(inner_backward);
HWY_EXPORT(softmax_losses);
HWY_EXPORT(add_rows);
HWY_EXPORT(add_scaled);

void leaf_forward(std::size_t hidden, const Cell& cell) {
  HWY_DYNAMIC_DISPATCH(leaf_forward)(hidden, cell);
}
void inner_forward(std::size_t hidden, const Cell& cell, const Cell& left, const Cell& right) {
  HWY_DYNAMIC_DISPATCH(inner_forward)(hidden, cell, left, right);
}
void leaf_backward(std::size_t hidden, const Cell& cell) {
  HWY_DYNAMIC_DISPATCH(leaf_backward)(hidden, cell);
}
void inner_backward(std::size_t hidden, const Cell& cell, const Cell& left, const Cell& right) {
  HWY_DYNAMIC_DISPATCH(inner_backward)(hidden, cell, left, right);
}
double softmax_losses(std::size_t n, std::size_t classes, float* scores, const unsigned* labels,
                      bool with_gradient) {
  return HWY_DYNAMIC_DISPATCH(softmax_losses)(n, classes, scores, labels, with_gradient);
}
void add_rows(std::size_t n, std::size_t size, const float* x, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_rows)(n, size, x, sum);
}
void add_scaled(std::size_t size, float factor, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(size, factor, x, y);
}

}  // namespace dynet_like::bench::by_hand
#endif
