// Sequences of random words, and the few distributions that the library needs.
#include "dynet_like/core/random.h"

#include <cmath>
#include <numbers>

#include "dynet_like/core/philox.h"

namespace dynet_like {

using namespace detail;

namespace {

// A sequence and the random nodes of a graph may have the same seed: their counters differ here.
constexpr std::uint32_t kSequence = 0xFFFFFFFFu;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  return philox_block(counter, key);
}

std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  const auto words = philox({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
                             static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32)},
                            seed);
  return std::uint64_t{words[0]} << 32 | words[1];
}

Random::result_type Random::operator()() {
  const std::uint64_t at = position_++;
  return philox(
      {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), kSequence, kSequence},
      seed_)[0];
}

std::uint32_t Random::below(std::uint32_t n) {
  // Lemire 2019: multiply, and reject the few words that would make some results likelier.
  const std::uint32_t rejected = (0u - n) % n;
  std::uint64_t product;
  do {
    product = std::uint64_t{(*this)()} * n;
  } while (static_cast<std::uint32_t>(product) < rejected);
  return static_cast<std::uint32_t>(product >> 32);
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace dynet_like
