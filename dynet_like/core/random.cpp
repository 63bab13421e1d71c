// Philox4x32-10 and the few distributions that the library needs.
#include "dynet_like/core/random.h"

#include <cmath>
#include <numbers>

namespace dynet_like {

namespace {

// Keys of steps and positions of sequences must not share counters: sequences use this "sample".
constexpr std::uint32_t kSequence = 0xFFFFFFFFu;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto low_key = static_cast<std::uint32_t>(key);
  auto high_key = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ low_key, static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ high_key, static_cast<std::uint32_t>(a)};
    low_key += 0x9E3779B9u;
    high_key += 0xBB67AE85u;
  }
  return counter;
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
