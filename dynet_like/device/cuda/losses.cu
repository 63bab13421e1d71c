// Kernels of losses: hinge loss, and Poisson loss of a count.
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/lines.h"
#include "dynet_like/ops/gamma_function.h"

namespace dynet_like::detail::cuda {

namespace {

// margin - x[chosen] + x[k] for the elements of a line.
template <class T>
struct Margins {
  Line<const T> x;
  std::uint32_t chosen;
  T margin;

  __device__ Margins(const Lines& lines, const Place& place, const Operand& in,
                     const std::uint32_t* integers, const T* margins)
      : x(line_in(in.at<T>(place.item), lines, place.at)),
        chosen(integers[place.item * lines.count + place.at]),
        margin(margins[place.item]) {}
  __device__ T at(std::uint32_t k) const { return margin - x[chosen] + x[k]; }
};

template <unsigned size, class T>
__global__ void hinge_forward(Part part, Lines lines, Operand in, const std::uint32_t* integers,
                              const T* margins, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Margins<T> losses(lines, place, in, integers, margins);
  const Team<size> team;
  const T sum = team.template sum<T>(lines.n, [&](std::uint32_t k) {
    const T loss = losses.at(k);
    return k == losses.chosen || loss < 0 ? T(0) : loss;
  });
  if (team.rank == 0) output_at<T>(out, place.item)[place.at] = sum;
}
template <unsigned size, class T>
__global__ void hinge_backward(Part part, Lines lines, Operand in, Operand dy,
                               const std::uint32_t* integers, const T* margins, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const Margins<T> losses(lines, place, in, integers, margins);
  const T dy_here = dy.at<T>(place.item)[place.at];
  const Team<size> team;
  const auto violates = [&](std::uint32_t k) {
    return k != losses.chosen && losses.at(k) > 0 ? T(1) : T(0);
  };
  const T violations = team.template sum<T>(lines.n, violates);
  team.each(lines.n, [&](std::uint32_t k) {
    target.put(dy_here * (k == losses.chosen ? -violations : violates(k)), lines.at(place.at, k));
  });
}

struct Hinge {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return hinge_forward<size(), T>; }, call.in[0], call.integers,
        static_cast<const T*>(call.reals), call.out);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    if (!call.dx[0].wanted()) return;
    launch_lines(
        commands_of(call), call.n, lines_of(*call.type),
        [](auto size) { return hinge_backward<size(), T>; }, call.in[0], call.dy, call.integers,
        static_cast<const T*>(call.reals), call.dx[0]);
  }
};

// Everything is in double, because large terms cancel out.
struct PoissonLoss {
  template <class T>
  __device__ static T value(Place here, Operand in, const std::uint32_t* counts) {
    const double x = static_cast<double>(*in.at<T>(here.item)), count = counts[here.item];
    const double rate = std::exp(x);  // if infinite, no other term compensates for it
    const bool is_alone = count == 0 || std::isinf(rate);
    const double rest = is_alone ? 0 : formulas::special::log_gamma(count + 1) - count * x;
    return static_cast<T>(rate + rest);
  }
  template <class T>
  __device__ static T gradient(Place here, Operand in, Operand dy, const std::uint32_t* counts) {
    const double x = static_cast<double>(*in.at<T>(here.item)), count = counts[here.item];
    return *dy.at<T>(here.item) * static_cast<T>(std::exp(x) - count);
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<PoissonLoss, T>(call, call.in[0], call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<PoissonLoss, T>(call, 0, call.in[0], call.dy, call.integers);
  }
};

}  // namespace

std::vector<KernelEntry> loss_kernels() {
  return {{"hinge", kernels<Hinge>()}, {"poisson_loss", kernels<PoissonLoss>()}};
}

}  // namespace dynet_like::detail::cuda
