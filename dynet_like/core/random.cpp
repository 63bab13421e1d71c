// Streams of random words, and the few distributions that the library needs.
#include "dynet_like/core/random.h"

#include <cmath>
#include <numbers>

#include "dynet_like/core/philox.h"

namespace dynet_like {

using namespace detail;

namespace {

// Keys of training steps and of sequences must not share counters: sequences use this "sample".
constexpr std::uint32_t kSequence = 0xFFFFFFFFu;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  return philox_block(counter, key);
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
