// Packed copies of a matrix, made once per version when they pay.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dynet_like/core/dtype.h"
#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

class Queue;

/// A matrix operand of products: a part of a value, beginning at element `offset`.
struct MatrixPlace {
  std::size_t offset = 0, rows = 0, columns = 0;
  bool operator==(const MatrixPlace&) const = default;
};

/// The packed copies of one value and of its parts. Several threads may use it at once, as long as
/// no thread still reads copies of an older version.
class PackedMatrices {
 public:
  /// The packed matrix of `value` for products with `uses` more columns, or null if a copy does not
  /// pay yet. The pointer is valid until another version is asked for.
  const void* matrix(const Queue& queue, DType dtype, const void* value, const MatrixPlace& place,
                     std::uint64_t version, std::size_t uses);
  /// Its packed transpose, made at the first use; null only if there are too many copies.
  const void* transpose(const Queue& queue, DType dtype, const void* value,
                        const MatrixPlace& place, std::uint64_t version);

 private:
  struct Copy {
    MatrixPlace place;
    bool transposed = false, made = false;
    std::size_t packing = 0, uses = 0;
    std::uint64_t version = 0;
    Block memory;
  };

  const void* find(const Queue& queue, DType dtype, const void* value, const MatrixPlace& place,
                   bool transposed, std::uint64_t version, std::size_t uses);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace dynet_like::detail
