// Chooses elements along a dimension, by integers or by size.
#include "dynet_like/device/cuda/extremes.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/ops/row_masks.h"

namespace dynet_like::detail::cuda {

namespace {

// `chosen` are the lines of the output; each has as many elements as there are integers.
template <class T>
__global__ void select_forward(Part part, Lines lines, Lines chosen, Operand in,
                               const std::uint32_t* integers, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint32_t k = integers[place.item * chosen.n + chosen.place_in_line(place.at)];
  output_at<T>(out, place.item)[place.at] =
      in.at<T>(place.item)[lines.at(chosen.line_of(place.at), k)];
}

// An element that is chosen several times gets the sum; one that is not chosen gets zero.
template <class T>
__global__ void select_backward(Part part, Lines lines, Lines chosen, Operand dy,
                                const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::uint32_t line = lines.line_of(place.at), here = lines.place_in_line(place.at);
  const T* const from = dy.at<T>(place.item);
  T sum = 0;
  for (std::uint32_t k = 0; k < chosen.n; ++k) {
    if (integers[place.item * chosen.n + k] == here) sum = sum + from[chosen.at(line, k)];
  }
  target.put(sum, place.at);
}

__device__ bool is_filled(const std::uint32_t* masks, std::uint32_t row) {
  return (masks[row / kRowsOfAMask] >> row % kRowsOfAMask & 1) != 0;
}

template <class T>
__global__ void fill_rows_forward(Part part, std::uint32_t rows, std::uint32_t masks, Operand in,
                                  const std::uint32_t* integers, const T* numbers, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const bool filled = is_filled(integers + place.item * masks, place.at % rows);
  output_at<T>(out, place.item)[place.at] =
      filled ? numbers[place.item] : in.at<T>(place.item)[place.at];
}

template <class T>
__global__ void fill_rows_backward(Part part, std::uint32_t rows, std::uint32_t masks, Operand dy,
                                   const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const bool filled = is_filled(integers + place.item * masks, place.at % rows);
  target.put(filled ? T(0) : dy.at<T>(place.item)[place.at], place.at);
}

// Marks the `count` largest elements of every line: those that fewer than `count` others precede.
template <class T>
__global__ void mark_largest(Part part, Lines lines, std::uint32_t count, Operand in,
                             std::uint8_t* marks) {
  Place place;
  if (!find_element(part, place)) return;
  const T* const x = in.at<T>(place.item);
  const std::uint32_t line = lines.line_of(place.at), here = lines.place_in_line(place.at);
  const Element<T> element{x[place.at], here};
  std::uint32_t before = 0;
  for (std::uint32_t k = 0; k < lines.n; ++k) {
    if (precedes(Element<T>{x[lines.at(line, k)], k}, element)) ++before;
  }
  marks[place.item * part.size + place.at] = before < count;
}

// The place of an element among the marked elements of its line.
__device__ std::size_t place_of_marked(const Lines& lines, const Lines& marked,
                                       const std::uint8_t* marks, std::uint32_t at) {
  const std::uint32_t line = lines.line_of(at), here = lines.place_in_line(at);
  std::uint32_t before = 0;
  for (std::uint32_t k = 0; k < here; ++k) before += marks[lines.at(line, k)];
  return marked.at(line, before);
}

template <class T>
__global__ void kmax_forward(Part part, Lines lines, Lines marked, Operand in,
                             const std::uint8_t* marks, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint8_t* const here = marks + place.item * part.size;
  if (here[place.at] == 0) return;
  output_at<T>(out, place.item)[place_of_marked(lines, marked, here, place.at)] =
      in.at<T>(place.item)[place.at];
}

template <class T>
__global__ void kmax_backward(Part part, Lines lines, Lines marked, Operand dy,
                              const std::uint8_t* marks, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::uint8_t* const here = marks + place.item * part.size;
  T result = 0;
  if (here[place.at] != 0) {
    result = dy.at<T>(place.item)[place_of_marked(lines, marked, here, place.at)];
  }
  target.put(result, place.at);
}

Lines lines_of_output(const Signature& type) {
  return Lines(Axis(type.output, type.attributes[0]));
}

template <class T>
void launch_select(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, select_forward<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.in[0], call.integers,
                  call.out);
}
template <class T>
void launch_select(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), select_backward<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.dy, call.integers,
                  call.dx[0]);
}

template <class T>
void launch_fill_rows(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, fill_rows_forward<T>,
                  call.type->output.rows(), call.type->integers, call.in[0], call.integers,
                  static_cast<const T*>(call.reals), call.out);
}
template <class T>
void launch_fill_rows(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->output_size, fill_rows_backward<T>,
                  call.type->output.rows(), call.type->integers, call.dy, call.integers,
                  call.dx[0]);
}

template <class T>
std::uint8_t* launch_mark_largest(Commands& commands, const Signature& type, std::size_t n,
                                  const Operand& in) {
  const std::size_t size = type.inputs[0].size();
  auto* const marks = commands.elements<std::uint8_t>(n * size);
  launch_elements(commands, n, size, mark_largest<T>, lines_of(type), type.attributes[1], in,
                  marks);
  return marks;
}
template <class T>
void launch_kmax(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  const Signature& type = *call.type;
  const std::uint8_t* const marks = launch_mark_largest<T>(commands, type, call.n, call.in[0]);
  launch_elements(commands, call.n, type.inputs[0].size(), kmax_forward<T>, lines_of(type),
                  lines_of_output(type), call.in[0], marks, call.out);
}
template <class T>
void launch_kmax(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  Commands& commands = commands_of(call);
  const Signature& type = *call.type;
  const std::uint8_t* const marks = launch_mark_largest<T>(commands, type, call.n, call.in[0]);
  launch_elements(commands, call.n, type.inputs[0].size(), kmax_backward<T>, lines_of(type),
                  lines_of_output(type), call.dy, marks, call.dx[0]);
}

// The range of columns of an item.
struct Segment {
  std::uint32_t begin, end;

  __device__ Segment(const std::uint32_t* integers, std::size_t item)
      : begin(integers[3 * item + 1]), end(integers[3 * item + 2]) {}
  __device__ bool has(std::uint32_t column) const { return column >= begin && column < end; }
};

// A long chain of floats loses digits: longer segments are sums of sums of so many columns.
constexpr std::uint32_t kBlockColumns = 32;

template <class T>
__global__ void segment_sum(Part part, Operand in, const std::uint32_t* integers, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const Segment segment(integers, place.item);
  const T* const row = in.at<T>(place.item) + place.at;
  double sum = 0;
  for (std::uint32_t begin = segment.begin; begin < segment.end; begin += kBlockColumns) {
    const std::uint32_t left = segment.end - begin;
    const std::uint32_t end = begin + (left < kBlockColumns ? left : kBlockColumns);
    T block = row[std::size_t{begin} * part.size];
    for (std::uint32_t c = begin + 1; c < end; ++c) block = block + row[std::size_t{c} * part.size];
    sum = begin == segment.begin ? double(block) : sum + double(block);
  }
  output_at<T>(out, place.item)[place.at] = T(sum);
}

// The column of the largest element of a row, the first of several.
template <class T>
__device__ std::uint32_t largest_of(const T* row, const Segment& segment, std::uint32_t rows) {
  std::uint32_t best = segment.begin;
  for (std::uint32_t c = segment.begin + 1; c < segment.end; ++c) {
    if (is_larger(row[std::size_t{c} * rows], row[std::size_t{best} * rows])) best = c;
  }
  return best;
}
template <class T>
__global__ void segment_max(Part part, Operand in, const std::uint32_t* integers, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const Segment segment(integers, place.item);
  const T* const row = in.at<T>(place.item) + place.at;
  output_at<T>(out, place.item)[place.at] =
      segment.begin == segment.end
          ? -std::numeric_limits<T>::infinity()
          : row[std::size_t{largest_of(row, segment, part.size)} * part.size];
}

// The threads of all items that contribute to the gradient of one matrix share its columns. An
// element gets the sum of dy over the items whose segment contains it (`of_largest`: as its row's
// largest), in order.
template <class T, bool of_largest>
__global__ void segment_gradients(Part part, std::size_t n, Operand in, Operand dy,
                                  const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  std::size_t begin = place.item, end = begin + 1;
  while (begin > 0 && dx.items[begin - 1] == dx.items[begin]) --begin;
  while (end < n && dx.items[end] == dx.items[begin]) ++end;
  const Target<T> first(dx, begin);
  for (std::size_t c = place.item - begin; c < integers[3 * begin]; c += end - begin) {
    const auto column = static_cast<std::uint32_t>(c);
    T sum = 0;
    for (std::size_t item = begin; item < end; ++item) {
      const Segment segment(integers, item);
      if (!segment.has(column)) continue;
      if (of_largest && largest_of(in.at<T>(item) + place.at, segment, part.size) != column)
        continue;
      sum = sum + dy.at<T>(item)[place.at];
    }
    first.put(sum, c * part.size + place.at);
  }
}

template <class T, bool of_largest>
void launch_segments(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size,
                  of_largest ? segment_max<T> : segment_sum<T>, call.in[0], call.integers,
                  call.out);
}
template <class T, bool of_largest>
void launch_segments(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->output_size,
                  segment_gradients<T, of_largest>, call.n, of_largest ? call.in[0] : Operand(),
                  call.dy, call.integers, call.dx[0]);
}

}  // namespace

std::span<const KernelEntry> selection_kernels() {
  static const KernelEntry table[] = {
      {"select",
       {{launch_select<float>, launch_select<double>},
        {launch_select<float>, launch_select<double>}}},
      {"fill_rows",
       {{launch_fill_rows<float>, launch_fill_rows<double>},
        {launch_fill_rows<float>, launch_fill_rows<double>}}},
      {"kmax_pooling",
       {{launch_kmax<float>, launch_kmax<double>}, {launch_kmax<float>, launch_kmax<double>}}},
      {"segment_sum",
       {{launch_segments<float, false>, launch_segments<double, false>},
        {launch_segments<float, false>, launch_segments<double, false>}}},
      {"segment_max",
       {{launch_segments<float, true>, launch_segments<double, true>},
        {launch_segments<float, true>, launch_segments<double, true>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
