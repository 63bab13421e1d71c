// Kernels that draw random numbers. Element e of a node takes word e of the stream that the node's
// three integers and the key name, so that it is the same whatever runs with it.
#include <cmath>
#include <numbers>

#include "dynet_like/core/random.h"
#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like {

namespace {

using Block = std::array<std::uint32_t, 4>;

// In (0, 1), so that logarithms are finite.
double open_interval(std::uint32_t word) { return ((word >> 8) + 0.5) * 0x1p-24; }

struct Uniform {
  static double draw(const Block& block, std::size_t w, double a, double b) {
    return a + (b - a) * unit_interval(block[w]);
  }
};
// Two words make two normal numbers: the radius is of the first, the angle of the second.
struct Normal {
  static double draw(const Block& block, std::size_t w, double a, double b) {
    const double radius = std::sqrt(-2 * std::log(open_interval(block[w / 2 * 2])));
    const double angle = 2 * std::numbers::pi * unit_interval(block[w / 2 * 2 + 1]);
    return a + b * radius * (w % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
};
struct Bernoulli {
  static double draw(const Block& block, std::size_t w, double a, double b) {
    return unit_interval(block[w]) < a ? b : 0;
  }
};
struct Gumbel {
  static double draw(const Block& block, std::size_t w, double a, double b) {
    return a - b * std::log(-std::log(open_interval(block[w])));
  }
};

template <class Distribution, class E>
void draw(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const std::uint32_t* integers = call.integers + 3 * i;
    const E* reals = static_cast<const E*>(call.reals) + 2 * i;
    const RandomStream stream(call.random, integers[0], integers[1]);
    Block block{};
    for (std::size_t e = 0; e < size; ++e) {
      const std::size_t word = integers[2] + e;
      if (e == 0 || word % 4 == 0) block = stream.block(word / 4);
      *out++ = static_cast<E>(Distribution::draw(block, word % 4, static_cast<double>(reals[0]),
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
  static const KernelEntry table[] = {{"random_uniform", kernels<Uniform>()},
                                      {"random_normal", kernels<Normal>()},
                                      {"random_bernoulli", kernels<Bernoulli>()},
                                      {"random_gumbel", kernels<Gumbel>()}};
  return table;
}

}  // namespace dynet_like
