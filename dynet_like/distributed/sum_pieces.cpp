// Adds up pieces chunk by chunk, so that intermediate sums stay in the cache.
#include "dynet_like/distributed/sum_pieces.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynet_like/distributed/shards.h"

namespace dynet_like::detail {

namespace {

template <class T>
void sum_pieces(std::span<const Piece> pieces, T* to, std::size_t count) {
  constexpr std::size_t kChunk = 1024;  // elements
  static const T zeros[kChunk] = {};
  // A sum replaces its left addend; `sum` has room for it.
  struct Part {
    const T* values;
    T* sum;
  };
  std::vector<T> sums(pieces.size() * kChunk);
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const std::size_t n = std::min(kChunk, count - begin);
    const auto add = [n](Part& left, const Part& right) {
      for (std::size_t i = 0; i < n; ++i) left.sum[i] = left.values[i] + right.values[i];
      left.values = left.sum;
    };
    TreeSum<Part, decltype(add)> tree(add);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const auto* values = reinterpret_cast<const T*>(pieces[p].values);
      tree.push(pieces[p].level, {values == nullptr ? zeros : values + begin, &sums[p * kChunk]});
    }
    std::memcpy(to + begin, tree.total().values, n * sizeof(T));
  }
}

}  // namespace

void sum_pieces(DType dtype, std::span<const Piece> pieces, std::byte* to, std::size_t count) {
  if (dtype == DType::f32) {
    sum_pieces(pieces, reinterpret_cast<float*>(to), count);
  } else {
    sum_pieces(pieces, reinterpret_cast<double*>(to), count);
  }
}

}  // namespace dynet_like::detail
