// Softmax, log-softmax and their loss. The maximum is subtracted first. A team of threads works on
// each vector of classes; the number of classes determines its size.
#include <cmath>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/lines.h"
#include "dynet_like/device/cuda/segments.h"

namespace dynet_like::detail::cuda {

namespace {

struct Softmax {
  static constexpr bool is_reduction = false;

  template <class T, unsigned size>
  __device__ static void map(const Team<size>& team, std::uint32_t n, Line<const T> x, Line<T> y) {
    const T top = team.template largest<T>(n, [&](std::uint32_t k) { return x[k]; });
    const T sum =
        team.template sum<T>(n, [&](std::uint32_t k) { return y[k] = std::exp(x[k] - top); });
    const T factor = 1 / sum;
    team.each(n, [&](std::uint32_t k) { y[k] = y[k] * factor; });
  }
  // dx = y (dy - sum y dy)
  template <class T, unsigned size, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> y,
                                  Line<const T> dy, const Put& put) {
    const T mean = team.template sum<T>(n, [&](std::uint32_t k) { return y[k] * dy[k]; });
    team.each(n, [&](std::uint32_t k) { put(y[k] * (dy[k] - mean), k); });
  }
};

struct LogSoftmax {
  static constexpr bool is_reduction = false;

  template <class T, unsigned size>
  __device__ static void map(const Team<size>& team, std::uint32_t n, Line<const T> x, Line<T> y) {
    const T top = team.template largest<T>(n, [&](std::uint32_t k) { return x[k]; });
    const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return std::exp(x[k] - top); });
    const T log_sum = std::log(sum);
    team.each(n, [&](std::uint32_t k) { y[k] = (x[k] - top) - log_sum; });
  }
  // dx = dy - e^y sum dy
  template <class T, unsigned size, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> y,
                                  Line<const T> dy, const Put& put) {
    const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return dy[k]; });
    team.each(n, [&](std::uint32_t k) { put(dy[k] - std::exp(y[k]) * sum, k); });
  }
};

template <class F>
struct Along {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_maps<F, T>(call);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_line_gradients<F, T>(call, call.out);
  }
};

// The loss saves the maximum and log sum e^(x - maximum) separately for the gradient, because their
// sum would keep few digits of a small logarithm.
template <unsigned size, class T>
__global__ void loss_forward(Part part, std::uint32_t n, Operand in, const std::uint32_t* classes,
                             Output out, T* saved) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const Team<size> team;
  const T top = team.template largest<T>(n, [&](std::uint32_t k) { return x[k]; });
  const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return std::exp(x[k] - top); });
  if (team.rank != 0) return;
  const T log_sum = std::log(sum);
  *output_at<T>(out, place.item) = (top - x[classes[place.item]]) + log_sum;
  if (saved == nullptr) return;
  saved[2 * place.item] = top;
  saved[2 * place.item + 1] = log_sum;
}

struct CrossEntropy {
  template <class T>
  static void launch(const ForwardCall& call) {
    const std::uint32_t n = call.type->inputs[0].size();
    launch_teams(
        commands_of(call), call.n, 1, team_for(n, 1),
        [](auto size) { return loss_forward<size(), T>; }, n, call.in[0], call.integers, call.out,
        static_cast<T*>(call.saved));
  }
  // dx[k] = dy e^((x[k] - maximum) - log sum) - [k = class] dy
  template <class T>
  __device__ static T gradient(Place here, Operand in, Operand saved, Operand dy,
                               const std::uint32_t* classes) {
    const T* const kept = saved.at<T>(here.item);
    const T dy_here = *dy.at<T>(here.item);
    const T share = std::exp((in.at<T>(here.item)[here.at] - kept[0]) - kept[1]) * dy_here;
    return share - (here.at == classes[here.item] ? dy_here : T(0));
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<CrossEntropy, T>(call, 0, call.in[0], call.saved, call.dy, call.integers);
  }
};

// The softmax in one row of a segment; columns are `rows` apart.
template <class T>
struct RowOfSegment {
  const T* row;
  std::uint32_t rows;
  T top = -std::numeric_limits<T>::infinity(), sum = 0;

  __device__ RowOfSegment(const T* x, std::uint32_t apart, const Segment& segment)
      : row(x), rows(apart) {
    for (std::uint32_t c = segment.begin; c < segment.end; ++c) top = Larger()(top, at(c));
    for (std::uint32_t c = segment.begin; c < segment.end; ++c) sum = sum + std::exp(at(c) - top);
  }
  __device__ T at(std::uint32_t column) const { return row[std::size_t{column} * rows]; }
  __device__ T value(std::uint32_t column) const { return std::exp(at(column) - top) * (1 / sum); }
};

// An item has a fourth integer: its own column.
struct SegmentSoftmax {
  static constexpr unsigned integers = 4;

  __device__ static std::uint32_t own_column(const std::uint32_t* of_items, std::size_t item) {
    return of_items[integers * item + 3];
  }
  template <class T>
  __device__ static T value(Place here, std::uint32_t rows, Operand in,
                            const std::uint32_t* of_items) {
    const Segment segment(of_items, integers, here.item);
    const RowOfSegment<T> row(in.at<T>(here.item) + here.at, rows, segment);
    return row.value(own_column(of_items, here.item));
  }
  // The contributions of every segment that contains the column, one segment after the other.
  template <class T>
  __device__ static T gradient(const Run& items, std::uint32_t at, std::uint32_t rows,
                               std::uint32_t column, const Operand& in, const Operand& dy,
                               const std::uint32_t* of_items) {
    const T* const x = in.at<T>(items.begin) + at;
    T sum = 0;
    for (std::size_t i = items.begin, next = 0; i < items.end; i = next) {
      const Segment segment(of_items, integers, i);
      next = i + 1;
      while (next < items.end && Segment(of_items, integers, next) == segment) ++next;
      if (!segment.has(column)) continue;
      const RowOfSegment<T> row(x, rows, segment);
      T own = 0, mean = 0;
      for (std::size_t k = i; k < next; ++k) {
        const T slope = dy.at<T>(k)[at];
        if (own_column(of_items, k) == column) own = own + slope;
        mean = mean + row.value(own_column(of_items, k)) * slope;
      }
      sum = sum + row.value(column) * (own - mean);
    }
    return sum;
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<SegmentSoftmax, T>(call, static_cast<std::uint32_t>(call.type->output_size),
                                     call.in[0], call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_segment_gradients<SegmentSoftmax, T>(call, call.in[0]);
  }
};

}  // namespace

std::vector<KernelEntry> softmax_kernels() {
  return {{"softmax", kernels<Along<Softmax>>()},
          {"log_softmax", kernels<Along<LogSoftmax>>()},
          {"cross_entropy", kernels<CrossEntropy>()},
          {"segment_softmax", kernels<SegmentSoftmax>()}};
}

}  // namespace dynet_like::detail::cuda
