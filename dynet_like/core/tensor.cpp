// Tensor: access and text form.
#include "dynet_like/core/tensor.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <ostream>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/forgotten.h"
#include "dynet_like/core/text.h"

namespace dynet_like {

Tensor::Tensor(const Dim& dim, DType dtype, void* values) : d(dim) {
  if (dtype == DType::f32) {
    v = static_cast<float*>(values);
  } else {
    v64 = static_cast<double*>(values);
  }
}

bool Tensor::is_valid() const {
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (!std::isfinite(at(i))) return false;
  }
  return true;
}

void Tensor::throw_empty() {
  throw UsageError("[Tensor] need a tensor of elements; got a default-constructed one");
}

void Tensor::check_not_forgotten(std::size_t i) const {
  const bool is_forgotten = v64 != nullptr
                                ? std::bit_cast<std::uint64_t>(v64[i]) == detail::kForgottenDouble
                                : std::bit_cast<std::uint32_t>(v[i]) == detail::kForgottenFloat;
  if (!is_forgotten) return;
  throw StateError(
      "[Tensor] need values that still exist; got values that were freed: copy a tensor with "
      "as_vector before the graph is cleared, reverted or computed anew");
}

Tensor Tensor::batch_elem(unsigned b) const {
  if (b >= d.bd) {
    throw ShapeError("[batch_elem] need an element of " + to_string(d) + "; got element " +
                     detail::index_text(b));
  }
  if (data() == nullptr) throw_empty();
  const std::size_t bytes = std::size_t{b} * d.batch_size() * size_of(dtype());
  return Tensor(d.single_batch(), dtype(), static_cast<std::byte*>(data()) + bytes);
}

std::vector<Tensor> Tensor::batch_elems() const {
  std::vector<Tensor> elements;
  for (unsigned b = 0; b < d.bd; ++b) elements.push_back(batch_elem(b));
  return elements;
}

float as_scalar(const Tensor& tensor) {
  if (tensor.d.size() != 1) {
    throw ShapeError("[as_scalar] need one element; got " + to_string(tensor.d));
  }
  return static_cast<float>(tensor.at(0));
}

std::vector<float> as_vector(const Tensor& tensor) {
  std::vector<float> result(tensor.d.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(tensor.at(i));
  return result;
}

std::vector<double> as_doubles(const Tensor& tensor) {
  std::vector<double> result(tensor.d.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = tensor.at(i);
  return result;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  const std::size_t rows = tensor.d.rows(), size = tensor.d.batch_size();
  for (unsigned b = 0; b < tensor.d.bd; ++b) {
    if (b != 0) out << '\n';
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = r; i < size; i += rows) {
        out << (i == r ? "" : " ") << tensor.at(b * size + i);
      }
      out << '\n';
    }
  }
  return out;
}

}  // namespace dynet_like
