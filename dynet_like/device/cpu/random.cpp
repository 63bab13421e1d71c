// Kernels that draw random numbers. Element e of a node takes word e of the stream that the node's
// three integers and the key name, so that it is the same whatever runs with it.
#include "dynet_like/core/random.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/ops/draws.h"

namespace dynet_like {

namespace {

template <class Distribution, class E>
void draw(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const std::uint32_t* integers = call.integers + 3 * i;
    const E* reals = static_cast<const E*>(call.reals) + 2 * i;
    const RandomStream stream(call.random, integers[0], integers[1]);
    draws::Words block{};
    for (std::size_t e = 0; e < size; ++e) {
      const std::size_t word = integers[2] + e;
      if (e == 0 || word % 4 == 0) block = stream.block(word / 4);
      *out++ = static_cast<E>(Distribution::draw(block, static_cast<unsigned>(word % 4),
                                                 static_cast<double>(reals[0]),
                                                 static_cast<double>(reals[1])));
    }
  }
}

template <class Distribution>
Kernels kernels() {
  return {{draw<Distribution, float>, draw<Distribution, double>}, {}};
}

}  // namespace

std::span<const cpu::KernelEntry> cpu::random_kernels() {
  static const KernelEntry table[] = {{"random_uniform", kernels<draws::Uniform>()},
                                      {"random_normal", kernels<draws::Normal>()},
                                      {"random_bernoulli", kernels<draws::Bernoulli>()},
                                      {"random_gumbel", kernels<draws::Gumbel>()}};
  return table;
}

}  // namespace dynet_like
