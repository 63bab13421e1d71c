// DyNet's index-tensor.h: positions in a tensor.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dynet/dim.h"

namespace dynet {

/// Integers in column-major order; the object and its copies share their memory.
struct IndexTensor {
  Dim d;
  std::ptrdiff_t* v = nullptr;
  std::shared_ptr<std::vector<std::ptrdiff_t>> memory;

  IndexTensor() = default;
  explicit IndexTensor(const Dim& dim)
      : d(dim), memory(std::make_shared<std::vector<std::ptrdiff_t>>(dim.size())) {
    v = memory->data();
  }
};

/// The only element. Throws ShapeError if there are more.
std::ptrdiff_t as_scalar(const IndexTensor& tensor);
std::vector<std::ptrdiff_t> as_vector(const IndexTensor& tensor);

}  // namespace dynet
