// Elements chosen along a dimension: by integers, or the largest ones.
#include "dynet_like/device/cuda/selections.h"

#include "dynet_like/device/cuda/extremes.h"

namespace dynet_like::cuda {

namespace {

// `chosen` are the lines of the output, as long as there are integers.
template <class T>
__global__ void select_forward(Part part, Lines lines, Lines chosen, Operand in,
                               const std::uint32_t* integers, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint32_t k = integers[place.item * chosen.n + chosen.place_in_line(place.at)];
  out[place.item * part.size + place.at] =
      in.at<T>(place.item)[lines.at(chosen.line_of(place.at), k)];
}

// An element that is chosen several times gets the sum; what is not chosen gets zero.
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

// Marks the `count` largest elements of every line: those that fewer others precede.
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

// The place of an element among the marked ones of its line.
__device__ std::size_t place_of_marked(const Lines& lines, const Lines& marked,
                                       const std::uint8_t* marks, std::uint32_t at) {
  const std::uint32_t line = lines.line_of(at), here = lines.place_in_line(at);
  std::uint32_t before = 0;
  for (std::uint32_t k = 0; k < here; ++k) before += marks[lines.at(line, k)];
  return marked.at(line, before);
}

template <class T>
__global__ void kmax_forward(Part part, Lines lines, Lines marked, Operand in,
                             const std::uint8_t* marks, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint8_t* const here = marks + place.item * part.size;
  if (here[place.at] == 0) return;
  const std::size_t out_size = std::size_t{marked.n} * marked.count;
  out[place.item * out_size + place_of_marked(lines, marked, here, place.at)] =
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
                  static_cast<T*>(call.out));
}
template <class T>
void launch_select(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), select_backward<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.dy, call.integers,
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
                  lines_of_output(type), call.in[0], marks, static_cast<T*>(call.out));
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

}  // namespace

Kernels select_kernels() {
  return {{launch_select<float>, launch_select<double>},
          {launch_select<float>, launch_select<double>}};
}
Kernels kmax_pooling_kernels() {
  return {{launch_kmax<float>, launch_kmax<double>}, {launch_kmax<float>, launch_kmax<double>}};
}

}  // namespace dynet_like::cuda
