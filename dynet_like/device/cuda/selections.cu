// Elements chosen along a dimension: by integers, or the largest ones.
#include "dynet_like/device/cuda/extremes.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

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

// An element of the result gets what is chosen for it, added up.
template <class T>
__global__ void scatter_add(Part part, Lines lines, Lines result, Operand in,
                            const std::uint32_t* integers, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint32_t line = result.line_of(place.at), here = result.place_in_line(place.at);
  const T* const from = in.at<T>(place.item);
  T sum = 0;
  for (std::uint32_t k = 0; k < lines.n; ++k) {
    if (integers[place.item * lines.n + k] == here) sum = sum + from[lines.at(line, k)];
  }
  out[place.item * part.size + place.at] = sum;
}
template <class T>
__global__ void scatter_add_gradients(Part part, Lines lines, Lines result, Operand dy,
                                      const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::uint32_t k = integers[place.item * lines.n + lines.place_in_line(place.at)];
  target.put(dy.at<T>(place.item)[result.at(lines.line_of(place.at), k)], place.at);
}

// The place in a line of the first of the largest elements that are chosen for an element of the
// result, or lines.n if none is.
template <class T>
__device__ std::uint32_t largest_chosen(const Lines& lines, std::uint32_t line, std::uint32_t here,
                                        const T* x, const std::uint32_t* chosen) {
  std::uint32_t best = lines.n;
  for (std::uint32_t k = 0; k < lines.n; ++k) {
    if (chosen[k] != here) continue;
    if (best == lines.n ||
        precedes(Element<T>{x[lines.at(line, k)], k}, Element<T>{x[lines.at(line, best)], best})) {
      best = k;
    }
  }
  return best;
}
template <class T>
__global__ void scatter_max(Part part, Lines lines, Lines result, Operand in,
                            const std::uint32_t* integers, T* out) {
  Place place;
  if (!find_element(part, place)) return;
  const std::uint32_t line = result.line_of(place.at);
  const T* const x = in.at<T>(place.item);
  const std::uint32_t best = largest_chosen(lines, line, result.place_in_line(place.at), x,
                                            integers + place.item * lines.n);
  out[place.item * part.size + place.at] =
      best == lines.n ? -std::numeric_limits<T>::infinity() : x[lines.at(line, best)];
}
template <class T>
__global__ void scatter_max_gradients(Part part, Lines lines, Lines result, Operand in, Operand dy,
                                      const std::uint32_t* integers, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const std::uint32_t line = lines.line_of(place.at), k = lines.place_in_line(place.at);
  const std::uint32_t* const chosen = integers + place.item * lines.n;
  const bool is_best = largest_chosen(lines, line, chosen[k], in.at<T>(place.item), chosen) == k;
  target.put(is_best ? dy.at<T>(place.item)[result.at(line, chosen[k])] : T(0), place.at);
}

template <class T>
void launch_scatter_add(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, scatter_add<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.in[0], call.integers,
                  static_cast<T*>(call.out));
}
template <class T>
void launch_scatter_add(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), scatter_add_gradients<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.dy, call.integers,
                  call.dx[0]);
}
template <class T>
void launch_scatter_max(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, scatter_max<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.in[0], call.integers,
                  static_cast<T*>(call.out));
}
template <class T>
void launch_scatter_max(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), scatter_max_gradients<T>,
                  lines_of(*call.type), lines_of_output(*call.type), call.in[0], call.dy,
                  call.integers, call.dx[0]);
}

}  // namespace

std::span<const KernelEntry> selection_kernels() {
  static const KernelEntry table[] = {
      {"select",
       {{launch_select<float>, launch_select<double>},
        {launch_select<float>, launch_select<double>}}},
      {"kmax_pooling",
       {{launch_kmax<float>, launch_kmax<double>}, {launch_kmax<float>, launch_kmax<double>}}},
      {"scatter_add",
       {{launch_scatter_add<float>, launch_scatter_add<double>},
        {launch_scatter_add<float>, launch_scatter_add<double>}}},
      {"scatter_max",
       {{launch_scatter_max<float>, launch_scatter_max<double>},
        {launch_scatter_max<float>, launch_scatter_max<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
