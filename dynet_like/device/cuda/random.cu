// Kernels that draw random numbers, with the CPU's bits: element e of an item is made from word e
// of those that the item's integers name.
#include "dynet_like/device/cuda/dropout.h"
#include "dynet_like/device/cuda/kernel_table.h"
#include "dynet_like/device/cuda/threads.h"

namespace dynet_like::detail::cuda {

namespace {

template <class Distribution, class T>
__global__ void draw(Part part, const std::uint32_t* integers, const T* reals, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  const Words words(integers + kRandomIntegers * place.item, place.at);
  const T* const real = reals + 2 * place.item;
  output_at<T>(out, place.item)[place.at] = static_cast<T>(Distribution::draw(
      words.block, words.chosen, static_cast<double>(real[0]), static_cast<double>(real[1])));
}

template <class T>
__global__ void dropout_forward(Part part, const std::uint32_t* integers, const T* reals,
                                Operand in, Output out) {
  Place place;
  if (!find_element(part, place)) return;
  output_at<T>(out, place.item)[place.at] =
      drop(integers + kRandomIntegers * place.item, reals[place.item], place.at,
           in.at<T>(place.item)[place.at]);
}

template <class T>
__global__ void dropout_backward(Part part, const std::uint32_t* integers, const T* reals,
                                 Operand dy, Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  target.put(drop(integers + kRandomIntegers * place.item, reals[place.item], place.at,
                  dy.at<T>(place.item)[place.at]),
             place.at);
}

template <class Distribution, class T>
void launch_draw(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, draw<Distribution, T>,
                  call.integers, static_cast<const T*>(call.reals), call.out);
}
template <class T>
void launch_dropout(const ForwardCall& call) {
  launch_elements(commands_of(call), call.n, call.type->output_size, dropout_forward<T>,
                  call.integers, static_cast<const T*>(call.reals), call.in[0], call.out);
}
template <class T>
void launch_dropout(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  launch_elements(commands_of(call), call.n, call.type->output_size, dropout_backward<T>,
                  call.integers, static_cast<const T*>(call.reals), call.dy, call.dx[0]);
}

template <class Distribution>
Kernels source() {
  return {{launch_draw<Distribution, float>, launch_draw<Distribution, double>}, {}};
}

}  // namespace

std::span<const KernelEntry> random_kernels() {
  static const KernelEntry table[] = {{"random_uniform", source<draws::Uniform>()},
                                      {"random_normal", source<draws::Normal>()},
                                      {"random_bernoulli", source<draws::Bernoulli>()},
                                      {"random_gumbel", source<draws::Gumbel>()},
                                      {"dropout",
                                       {{launch_dropout<float>, launch_dropout<double>},
                                        {launch_dropout<float>, launch_dropout<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
