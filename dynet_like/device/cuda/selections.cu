// Chooses elements along a dimension, by integers or by size.
#include "dynet_like/device/cuda/extremes.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/segments.h"
#include "dynet_like/ops/row_masks.h"

namespace dynet_like::detail::cuda {

namespace {

Lines lines_of_output(const Signature& type) {
  return Lines(Axis(type.output, type.attributes[0]));
}

// `chosen` are the lines of the output; each has as many elements as there are integers.
struct Select {
  template <class T>
  __device__ static T value(Place here, Lines lines, Lines chosen, Operand in,
                            const std::uint32_t* integers) {
    const std::uint32_t k = integers[here.item * chosen.n + chosen.place_in_line(here.at)];
    return in.at<T>(here.item)[lines.at(chosen.line_of(here.at), k)];
  }
  // An element that is chosen several times gets the sum; one that is not chosen gets zero.
  template <class T>
  __device__ static T gradient(Place here, Lines lines, Lines chosen, Operand dy,
                               const std::uint32_t* integers) {
    const std::uint32_t line = lines.line_of(here.at), at = lines.place_in_line(here.at);
    const T* const from = dy.at<T>(here.item);
    T sum = 0;
    for (std::uint32_t k = 0; k < chosen.n; ++k) {
      if (integers[here.item * chosen.n + k] == at) sum = sum + from[chosen.at(line, k)];
    }
    return sum;
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Select, T>(call, lines_of(*call.type), lines_of_output(*call.type), call.in[0],
                             call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<Select, T>(call, 0, lines_of(*call.type), lines_of_output(*call.type), call.dy,
                                call.integers);
  }
};

struct FillRows {
  // An item has a bit for each row.
  __device__ static bool is_filled(Place here, std::uint32_t rows, std::uint32_t masks,
                                   const std::uint32_t* integers) {
    const std::uint32_t row = here.at % rows;
    const std::uint32_t mask = integers[here.item * masks + row / kRowsOfAMask];
    return (mask >> row % kRowsOfAMask & 1) != 0;
  }
  template <class T>
  __device__ static T value(Place here, std::uint32_t rows, std::uint32_t masks, Operand in,
                            const std::uint32_t* integers, const T* numbers) {
    return is_filled(here, rows, masks, integers) ? numbers[here.item]
                                                  : in.at<T>(here.item)[here.at];
  }
  template <class T>
  __device__ static T gradient(Place here, std::uint32_t rows, std::uint32_t masks, Operand dy,
                               const std::uint32_t* integers) {
    return is_filled(here, rows, masks, integers) ? T(0) : dy.at<T>(here.item)[here.at];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<FillRows, T>(call, call.type->output.rows(), call.type->integers, call.in[0],
                               call.integers, static_cast<const T*>(call.reals));
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<FillRows, T>(call, 0, call.type->output.rows(), call.type->integers, call.dy,
                                  call.integers);
  }
};

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
std::uint8_t* launch_mark_largest(Commands& commands, const Signature& type, std::size_t n,
                                  const Operand& in) {
  const std::size_t size = type.inputs[0].size();
  auto* const marks = commands.elements<std::uint8_t>(n * size);
  launch_elements(commands, n, size, mark_largest<T>, lines_of(type), type.attributes[1], in,
                  marks);
  return marks;
}
struct KmaxPooling {
  template <class T>
  static void launch(const ForwardCall& call) {
    Commands& commands = commands_of(call);
    const Signature& type = *call.type;
    const std::uint8_t* const marks = launch_mark_largest<T>(commands, type, call.n, call.in[0]);
    launch_elements(commands, call.n, type.inputs[0].size(), kmax_forward<T>, lines_of(type),
                    lines_of_output(type), call.in[0], marks, call.out);
  }
  template <class T>
  __device__ static T gradient(Place here, Lines lines, Lines marked, Operand dy,
                               const std::uint8_t* marks) {
    const std::uint8_t* const of_item = marks + here.item * lines.n * lines.count;
    if (of_item[here.at] == 0) return 0;
    return dy.at<T>(here.item)[place_of_marked(lines, marked, of_item, here.at)];
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    if (!call.dx[0].wanted()) return;
    const Signature& type = *call.type;
    const std::uint8_t* const marks =
        launch_mark_largest<T>(commands_of(call), type, call.n, call.in[0]);
    launch_gradients<KmaxPooling, T>(call, 0, lines_of(type), lines_of_output(type), call.dy,
                                     marks);
  }
};

// A long chain of floats loses digits: longer segments are sums of sums of so many columns.
constexpr std::uint32_t kBlockColumns = 32;

// The sum of an element's slopes over the items whose segment `counts` for it, in order.
template <class T, class Counts>
__device__ T sum_of_slopes(const Run& items, std::uint32_t at, const Operand& dy,
                           const std::uint32_t* of_items, std::uint32_t column,
                           const Counts& counts) {
  T sum = 0;
  for (std::size_t i = items.begin; i < items.end; ++i) {
    const Segment segment(of_items, 3, i);
    if (segment.has(column) && counts(i, segment)) sum = sum + dy.at<T>(i)[at];
  }
  return sum;
}

struct SegmentSum {
  static constexpr unsigned integers = 3;

  template <class T>
  __device__ static T value(Place here, std::uint32_t rows, Operand in,
                            const std::uint32_t* of_items) {
    const Segment segment(of_items, integers, here.item);
    const T* const row = in.at<T>(here.item) + here.at;
    double sum = 0;
    for (std::uint32_t begin = segment.begin; begin < segment.end; begin += kBlockColumns) {
      const std::uint32_t left = segment.end - begin;
      const std::uint32_t end = begin + (left < kBlockColumns ? left : kBlockColumns);
      T block = row[std::size_t{begin} * rows];
      for (std::uint32_t c = begin + 1; c < end; ++c) block = block + row[std::size_t{c} * rows];
      sum = begin == segment.begin ? double(block) : sum + double(block);
    }
    return T(sum);
  }
  template <class T>
  __device__ static T gradient(const Run& items, std::uint32_t at, std::uint32_t,
                               std::uint32_t column, const Operand&, const Operand& dy,
                               const std::uint32_t* of_items) {
    return sum_of_slopes<T>(items, at, dy, of_items, column,
                            [](std::size_t, const Segment&) { return true; });
  }
};

// The column of the largest element of a row, the first of several.
template <class T>
__device__ std::uint32_t largest_of(const T* row, const Segment& segment, std::uint32_t rows) {
  std::uint32_t best = segment.begin;
  for (std::uint32_t c = segment.begin + 1; c < segment.end; ++c) {
    if (is_larger(row[std::size_t{c} * rows], row[std::size_t{best} * rows])) best = c;
  }
  return best;
}
struct SegmentMax {
  static constexpr unsigned integers = 3;

  template <class T>
  __device__ static T value(Place here, std::uint32_t rows, Operand in,
                            const std::uint32_t* of_items) {
    const Segment segment(of_items, integers, here.item);
    if (segment.begin == segment.end) return -std::numeric_limits<T>::infinity();
    const T* const row = in.at<T>(here.item) + here.at;
    return row[std::size_t{largest_of(row, segment, rows)} * rows];
  }
  // An element gets the slopes of the segments of which it is the row's largest.
  template <class T>
  __device__ static T gradient(const Run& items, std::uint32_t at, std::uint32_t rows,
                               std::uint32_t column, const Operand& in, const Operand& dy,
                               const std::uint32_t* of_items) {
    return sum_of_slopes<T>(items, at, dy, of_items, column,
                            [&](std::size_t i, const Segment& segment) {
                              return largest_of(in.at<T>(i) + at, segment, rows) == column;
                            });
  }
};

template <class Op>
struct OfSegments {
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Op, T>(call, static_cast<std::uint32_t>(call.type->output_size), call.in[0],
                         call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_segment_gradients<Op, T>(call, call.in == nullptr ? Operand() : call.in[0]);
  }
};

}  // namespace

std::vector<KernelEntry> selection_kernels() {
  return {{"select", kernels<Select>()},
          {"fill_rows", kernels<FillRows>()},
          {"kmax_pooling", kernels<KmaxPooling>()},
          {"segment_sum", kernels<OfSegments<SegmentSum>>()},
          {"segment_max", kernels<OfSegments<SegmentMax>>()}};
}

}  // namespace dynet_like::detail::cuda
