// Softmax, log-softmax and their loss. The maximum is subtracted first. A team of threads works on
// each vector of classes; the number of classes determines its size.
#include <cmath>

#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

namespace {

// The elements of a line.
template <class T>
struct Line {
  T* first;
  std::uint32_t stride;

  __device__ T& operator[](std::uint32_t k) const { return first[std::size_t{k} * stride]; }
};
template <class T>
__device__ Line<T> line_in(T* item, const Lines& lines, std::uint32_t line) {
  return {item + lines.at(line, 0), lines.inner};
}

struct Softmax {
  template <unsigned size, class T>
  __device__ static void value(const Team<size>& team, std::uint32_t n, Line<const T> x,
                               Line<T> y) {
    const T top = team.template largest<T>(n, [&](std::uint32_t k) { return x[k]; });
    const T sum =
        team.template sum<T>(n, [&](std::uint32_t k) { return y[k] = std::exp(x[k] - top); });
    const T factor = 1 / sum;
    team.each(n, [&](std::uint32_t k) { y[k] = y[k] * factor; });
  }
  // dx = y (dy - sum y dy)
  template <unsigned size, class T, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> y,
                                  Line<const T> dy, const Put& put_at) {
    const T mean = team.template sum<T>(n, [&](std::uint32_t k) { return y[k] * dy[k]; });
    team.each(n, [&](std::uint32_t k) { put_at(y[k] * (dy[k] - mean), k); });
  }
};

struct LogSoftmax {
  template <unsigned size, class T>
  __device__ static void value(const Team<size>& team, std::uint32_t n, Line<const T> x,
                               Line<T> y) {
    const T top = team.template largest<T>(n, [&](std::uint32_t k) { return x[k]; });
    const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return std::exp(x[k] - top); });
    const T log_sum = std::log(sum);
    team.each(n, [&](std::uint32_t k) { y[k] = (x[k] - top) - log_sum; });
  }
  // dx = dy - e^y sum dy
  template <unsigned size, class T, class Put>
  __device__ static void gradient(const Team<size>& team, std::uint32_t n, Line<const T> y,
                                  Line<const T> dy, const Put& put_at) {
    const T sum = team.template sum<T>(n, [&](std::uint32_t k) { return dy[k]; });
    team.each(n, [&](std::uint32_t k) { put_at(dy[k] - std::exp(y[k]) * sum, k); });
  }
};

template <unsigned size, class F, class T>
__global__ void along_forward(Part part, Lines lines, Operand in, Output out) {
  Place place;
  if (!find_line<size>(part, place)) return;
  F::template value<size, T>(Team<size>(), lines.n, line_in(in.at<T>(place.item), lines, place.at),
                             line_in(output_at<T>(out, place.item), lines, place.at));
}

template <unsigned size, class F, class T>
__global__ void along_backward(Part part, Lines lines, Operand out, Operand dy, Destination dx) {
  Place place;
  if (!find_line<size>(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  F::template gradient<size, T>(
      Team<size>(), lines.n, line_in(out.at<T>(place.item), lines, place.at),
      line_in(dy.at<T>(place.item), lines, place.at),
      [&](T result, std::uint32_t k) { target.put(result, lines.at(place.at, k)); });
}

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

// dx[k] = dy e^((x[k] - maximum) - log sum) - [k = class] dy
template <class T>
__global__ void loss_backward(Part part, Operand in, Operand saved, Operand dy,
                              const std::uint32_t* classes, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const T* const kept = saved.at<T>(place.item);
  const T dy_here = *dy.at<T>(place.item);
  const T share = std::exp((in.at<T>(place.item)[place.at] - kept[0]) - kept[1]) * dy_here;
  target.put(share - (place.at == classes[place.item] ? dy_here : T(0)), place.at);
}

// The columns of the softmax that an item belongs to, and the item's own column.
struct Segment {
  std::uint32_t begin, end, own;

  __device__ Segment(const std::uint32_t* integers, std::size_t item)
      : begin(integers[4 * item + 1]), end(integers[4 * item + 2]), own(integers[4 * item + 3]) {}
  __device__ bool is_of(const Segment& other) const {
    return begin == other.begin && end == other.end;
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

template <class T>
__global__ void segments_forward(Part part, Operand in, const std::uint32_t* integers, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const Segment segment(integers, place.item);
  const RowOfSegment<T> row(in.at<T>(place.item) + place.at, part.size, segment);
  output_at<T>(out, place.item)[place.at] = row.value(segment.own);
}

// The threads of all items that contribute to the gradient of one matrix share its columns. An
// element gets the contributions of every segment that contains it, one segment after the other.
template <class T>
__global__ void segments_backward(Part part, std::size_t n, Operand in, Operand dy,
                                  const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  std::size_t begin = place.item, end = begin + 1;
  while (begin > 0 && dx.items[begin - 1] == dx.items[begin]) --begin;
  while (end < n && dx.items[end] == dx.items[begin]) ++end;
  const Target<T> first(dx, begin);
  const T* const x = in.at<T>(begin) + place.at;
  for (std::size_t c = place.item - begin; c < integers[4 * begin]; c += end - begin) {
    T sum = 0;
    for (std::size_t i = begin, next = 0; i < end; i = next) {
      const Segment segment(integers, i);
      next = i + 1;
      while (next < end && Segment(integers, next).is_of(segment)) ++next;
      if (c < segment.begin || c >= segment.end) continue;
      const RowOfSegment<T> row(x, part.size, segment);
      T own = 0, mean = 0;
      for (std::size_t k = i; k < next; ++k) {
        const std::uint32_t column = Segment(integers, k).own;
        const T slope = dy.at<T>(k)[place.at];
        if (column == c) own = own + slope;
        mean = mean + row.value(column) * slope;
      }
      sum = sum + row.value(static_cast<std::uint32_t>(c)) * (own - mean);
    }
    first.put(sum, c * part.size + place.at);
  }
}

template <class T>
void launch_segments(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, segments_forward<T>,
                  call.in[0], call.integers, call.out);
}
template <class T>
void launch_segments(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->output_size, segments_backward<T>, call.n,
                  call.in[0], call.dy, call.integers, call.dx[0]);
}

template <class F, class T>
void launch_along(const ForwardCall& call) {
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return along_forward<size(), F, T>; }, call.in[0], call.out);
}
template <class F, class T>
void launch_along(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_lines(
      commands_of(call), call.n, lines_of(*call.type),
      [](auto size) { return along_backward<size(), F, T>; }, call.out, call.dy, call.dx[0]);
}

template <class T>
void launch_loss(const ForwardCall& call) {
  const std::uint32_t n = call.type->inputs[0].size();
  launch_teams(
      commands_of(call), call.n, 1, team_for(n, 1),
      [](auto size) { return loss_forward<size(), T>; }, n, call.in[0], call.integers, call.out,
      static_cast<T*>(call.saved));
}
template <class T>
void launch_loss(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), loss_backward<T>,
                  call.in[0], call.saved, call.dy, call.integers, call.dx[0]);
}

template <class F>
Kernels along() {
  return {{launch_along<F, float>, launch_along<F, double>},
          {launch_along<F, float>, launch_along<F, double>}};
}

}  // namespace

std::span<const KernelEntry> softmax_kernels() {
  static const KernelEntry table[] = {
      {"softmax", along<Softmax>()},
      {"log_softmax", along<LogSoftmax>()},
      {"cross_entropy",
       {{launch_loss<float>, launch_loss<double>}, {launch_loss<float>, launch_loss<double>}}},
      {"segment_softmax",
       {{launch_segments<float>, launch_segments<double>},
        {launch_segments<float>, launch_segments<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
