// Philox4x32-10 (Salmon et al. 2011), for the CPU and, as a constexpr function, for GPUs.
#pragma once

#include <array>
#include <cstdint>

namespace dynet_like::detail {

/// Four words that are a function of a 128-bit counter and a 64-bit key.
constexpr std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                                    std::uint64_t key) {
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

/// The integers of a random node, for every item: the seed of its graph (lower half, upper half),
/// the number of the node among the graph's random nodes, and the item's first word.
constexpr unsigned kRandomIntegers = 4;

/// Block `number` (four words) of the random words that these integers identify.
constexpr std::array<std::uint32_t, 4> random_block(const std::uint32_t* integers,
                                                    std::uint64_t number) {
  return philox_block({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                       integers[2], 0},
                      integers[0] | std::uint64_t{integers[1]} << 32);
}

}  // namespace dynet_like::detail
