// Norms along a dimension, and the normalisation of columns.
#include <cmath>
#include <limits>

#include "dynet_like/device/cuda/deferred.h"
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/lines.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail::cuda {

namespace {

// The root of the sum or mean of squares that overflow or underflow: the numbers are scaled by a
// power of 2, which is exact.
template <bool mean, unsigned size, class T, class Element>
__device__ T scaled_norm(const Team<size>& team, std::uint32_t n, const Element& element) {
  const T nans = team.template sum<T>(
      n, [&](std::uint32_t k) { return std::isnan(element(k)) ? element(k) : T(0); });
  if (std::isnan(nans)) return nans;
  const T largest =
      team.template largest<T>(n, [&](std::uint32_t k) { return std::abs(element(k)); });
  if (largest == 0 || std::isinf(largest)) return largest;
  const int exponent = std::ilogb(largest);
  const T sum = team.template sum<T>(n, [&](std::uint32_t k) {
    const T x = std::ldexp(element(k), -exponent);
    return x * x;
  });
  return std::ldexp(std::sqrt(sum_or_mean<mean>(sum, n)), exponent);
}

// The same, given the sum of squares as it was computed.
template <bool mean, unsigned size, class T, class Element>
__device__ T norm_of(const Team<size>& team, T sum, std::uint32_t n, const Element& element) {
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  constexpr T kMost = std::numeric_limits<T>::max();
  const bool is_exact = sum >= kLeast && sum <= kMost;
  return is_exact ? std::sqrt(sum_or_mean<mean>(sum, n))
                  : scaled_norm<mean, size, T>(team, n, element);
}

template <bool mean>
struct Norm {
  template <class T, unsigned size>
  __device__ static T reduce(const Team<size>& team, std::uint32_t n, Line<const T> x) {
    const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return x[k] * x[k]; });
    return norm_of<mean>(team, sum, n, [&](std::uint32_t k) { return x[k]; });
  }
  // dx = x / y dy, divided by n for a mean. 0 if y is 0, since then no direction is steepest.
  template <class T>
  __device__ static T gradient(Place here, Lines lines, Operand in, Operand out, Operand dy) {
    const std::uint32_t line = lines.line_of(here.at);
    const T y = out.at<T>(here.item)[line], norm = T(0) < y ? y : y + T(1);
    const T part_of_dy = sum_or_mean<mean>(dy.at<T>(here.item)[line], lines.n);
    return in.at<T>(here.item)[here.at] / norm * part_of_dy;
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_reductions<Norm, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<Norm, T>(call, 0, lines_of(*call.type), call.in[0], call.out, call.dy);
  }
};

// --------------------------------------------------------------------- normalisation of columns

// layer_norm is centred; rms_norm is the same with the mean 0, and without b.

// The least divisor of differences to the mean. It is far below meaningful differences between
// numbers, and makes a column of equal numbers become b.
constexpr double kLeastDeviation = 1e-12;

// The mean is computed as a distance from the first number: for equal numbers it is exactly 0,
// whereas a plain mean may be rounded. The distance and the factor of the differences are saved.
template <unsigned size, class T, bool centred>
__global__ void normalise(Part part, std::uint32_t n, Operand in, Operand gs, Operand bs, T epsilon,
                          Output out, T* saved) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const std::size_t line = place.item * part.size + place.at;
  const T *const x = in.at<T>(place.item) + std::size_t{place.at} * n,
                 *const g = gs.at<T>(place.item),
                 *const b = centred ? bs.at<T>(place.item) : nullptr;
  T* const y = output_at<T>(out, place.item) + std::size_t{place.at} * n;
  const Team<size> team;
  const T first = centred ? x[0] : T(0), count = static_cast<T>(n);
  T mean = 0;
  if constexpr (centred) {
    mean = team.template sum<T>(n, [&](std::uint32_t k) { return x[k] - first; }) / count;
  }
  const auto difference = [&](std::uint32_t k) { return x[k] - first - mean; };
  const T sum =
      team.template sum<T>(n, [&](std::uint32_t k) { return difference(k) * difference(k); });
  T deviation = norm_of<true>(team, sum, n, difference);
  if (epsilon > 0) deviation = std::hypot(deviation, std::sqrt(epsilon));
  const T least = T(kLeastDeviation);
  const T factor = T(1) / (deviation < least ? least : deviation);
  team.each(n, [&](std::uint32_t k) {
    const T normal = difference(k) * factor;
    y[k] = centred ? std::fma(normal, g[k], b[k]) : normal * g[k];
  });
  if (team.rank != 0 || saved == nullptr) return;
  saved[2 * line] = mean;
  saved[2 * line + 1] = factor;
}

// (x - mean) / deviation of a column.
template <class T, bool centred>
struct Normal {
  const T* x;
  T first, mean, factor;

  __device__ Normal(const T* column, const T* saved)
      : x(column), first(centred ? column[0] : T(0)), mean(saved[0]), factor(saved[1]) {}
  __device__ T at(std::uint32_t k) const { return (x[k] - first - mean) * factor; }
};

// dx = (g dy - mean(g dy) - z mean(z g dy)) / deviation, with z as above, without mean(g dy) if x
// is not centred, but 0 if the numbers count as equal.
template <unsigned size, class T, bool centred>
__global__ void gradients_of_columns(Part part, std::uint32_t n, Operand in, Operand gs,
                                     Operand saved, Operand dys, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::size_t first = std::size_t{place.at} * n;
  const T *const g = gs.at<T>(place.item), *const dy = dys.at<T>(place.item) + first;
  const Normal<T, centred> normal(in.at<T>(place.item) + first,
                                  saved.at<T>(place.item) + 2 * place.at);
  const Team<size> team;
  const T count = static_cast<T>(n);
  T mean = 0;
  if constexpr (centred) {
    mean = team.template sum<T>(n, [&](std::uint32_t k) { return g[k] * dy[k]; }) / count;
  }
  const T along =
      team.template sum<T>(n, [&](std::uint32_t k) { return g[k] * dy[k] * normal.at(k); }) / count;
  const T steepness = normal.factor >= T(1) / T(kLeastDeviation) ? T(0) : normal.factor;
  team.each(n, [&](std::uint32_t k) {
    target.put((g[k] * dy[k] - mean - normal.at(k) * along) * steepness, first + k);
  });
}

// Sums over an item's columns: dg = z dy and db = dy.
template <class T, bool centred>
__global__ void sums_of_columns(Part part, std::uint32_t columns, Operand in, Operand saved,
                                Operand dys, Deferred<T> deferred, Destination dg, Destination db) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint32_t n = part.size;
  T of_g = 0, of_b = 0;
  for (std::uint32_t k = 0; k < columns; ++k) {
    const std::size_t first = std::size_t{k} * n;
    const Normal<T, centred> normal(in.at<T>(place.item) + first, saved.at<T>(place.item) + 2 * k);
    const T dy = dys.at<T>(place.item)[first + place.at], term = dy * normal.at(place.at);
    of_g = k == 0 ? term : of_g + term;
    of_b = k == 0 ? dy : of_b + dy;
  }
  T* const left = deferred.at(place.item) + place.at;
  left[0] = of_g;
  const Target<T> to_g(dg, place.item);
  if (to_g.to != nullptr) to_g.put(of_g, place.at);
  if constexpr (!centred) return;
  left[n] = of_b;
  const Target<T> to_b(db, place.item);
  if (to_b.to != nullptr) to_b.put(of_b, place.at);
}

template <class T, bool centred>
void launch_normalise(const ForwardCall& call) {
  const Lines lines(Axis(call.type->inputs[0], 0));
  launch_teams(
      commands_of(call), call.n, lines.count, team_for(lines),
      [](auto size) { return normalise<size(), T, centred>; }, lines.n, call.in[0], call.in[1],
      centred ? call.in[2] : Operand(), static_cast<T>(ops::epsilon_of(*call.type)), call.out,
      static_cast<T*>(call.saved));
}
template <class T, bool centred>
void launch_normalise_backward(const BackwardCall& call) {
  const Lines lines(Axis(call.type->inputs[0], 0));
  if (call.dx[0].wanted()) {
    launch_teams(
        commands_of(call), call.n, lines.count, team_for(lines),
        [](auto size) { return gradients_of_columns<size(), T, centred>; }, lines.n, call.in[0],
        call.in[1], call.saved, call.dy, call.dx[0]);
  }
  launch_elements(commands_of(call), call.n, lines.n, sums_of_columns<T, centred>, lines.count,
                  call.in[0], call.saved, call.dy, Deferred<T>(call), call.dx[1],
                  centred ? call.dx[2] : Destination());
}

}  // namespace

std::vector<KernelEntry> norm_kernels() {
  return {{"norm_dim", kernels<Norm<false>>()},
          {"rms_dim", kernels<Norm<true>>()},
          {"layer_norm", DYNET_LIKE_KERNELS(launch_normalise, launch_normalise_backward, true)},
          {"rms_norm", DYNET_LIKE_KERNELS(launch_normalise, launch_normalise_backward, false)}};
}

}  // namespace dynet_like::detail::cuda
