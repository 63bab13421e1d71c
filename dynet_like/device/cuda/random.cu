// Kernels that draw random numbers, with the CPU's bits: element e of an item is made from word e
// of those that the item's integers name.
#include "dynet_like/device/cuda/dropout.h"
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

template <class Distribution>
struct Draw {
  template <class T>
  __device__ static T value(Place here, const std::uint32_t* integers, const T* reals) {
    const Words words(integers + kRandomIntegers * here.item, here.at);
    const T* const real = reals + 2 * here.item;
    return static_cast<T>(Distribution::draw(
        words.block, words.chosen, static_cast<double>(real[0]), static_cast<double>(real[1])));
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Draw, T>(call, call.integers, static_cast<const T*>(call.reals));
  }
};

struct Dropout {
  template <class T>
  __device__ static T value(Place here, Operand in, const std::uint32_t* integers, const T* reals) {
    return drop(integers + kRandomIntegers * here.item, reals[here.item], here.at,
                in.at<T>(here.item)[here.at]);
  }
  template <class T>
  __device__ static T gradient(Place here, Operand dy, const std::uint32_t* integers,
                               const T* reals) {
    return value(here, dy, integers, reals);
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Dropout, T>(call, call.in[0], call.integers, static_cast<const T*>(call.reals));
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    launch_gradients<Dropout, T>(call, 0, call.dy, call.integers,
                                 static_cast<const T*>(call.reals));
  }
};

}  // namespace

std::vector<KernelEntry> random_kernels() {
  return {{"random_uniform", kernels<Draw<draws::Uniform>>()},
          {"random_normal", kernels<Draw<draws::Normal>>()},
          {"random_bernoulli", kernels<Draw<draws::Bernoulli>>()},
          {"random_gumbel", kernels<Draw<draws::Gumbel>>()},
          {"dropout", kernels<Dropout>()}};
}

}  // namespace dynet_like::detail::cuda
