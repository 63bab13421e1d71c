// Chunk by chunk, so that what is added up in between is never written to memory.
#include "dynet_like/distributed/sum_pieces.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynet_like/device/updates.h"
#include "dynet_like/distributed/shards.h"

namespace dynet_like::detail {

void sum_pieces(DType dtype, std::span<const Piece> pieces, std::byte* to, std::size_t count) {
  constexpr std::size_t kChunk = 4096;  // bytes
  const std::size_t element = size_of(dtype);
  std::vector<std::byte> copies(pieces.size() * kChunk);
  for (std::size_t begin = 0; begin < count * element; begin += kChunk) {
    const std::size_t bytes = std::min(kChunk, count * element - begin);
    const auto add = [&](std::byte* left, const std::byte* right) {
      const Pair pair = {left, right, bytes / element};
      cpu_updates().add(dtype, std::span(&pair, 1));
    };
    TreeSum<std::byte*, decltype(add)> tree(add);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::byte* const copy = &copies[i * kChunk];
      if (pieces[i].values == nullptr) {
        std::memset(copy, 0, bytes);
      } else {
        std::memcpy(copy, pieces[i].values + begin, bytes);
      }
      tree.push(pieces[i].level, copy);
    }
    std::memcpy(to + begin, tree.total(), bytes);
  }
}

}  // namespace dynet_like::detail
