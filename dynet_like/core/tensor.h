// A view of values: a shape and where its elements lie.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/core/dtype.h"

namespace dynet_like {

/// Elements in column-major order that belong to a graph, until it is cleared, or to a parameter.
/// If you need them for longer, copy them with as_vector: memory of a cleared graph holds other
/// numbers. With GraphOptions::verify_batching and in debug builds it reads as NaN through `v`, and
/// functions throw StateError; the address sanitizer stops the program. Members have DyNet's names.
/// A tensor of doubles has `v64` instead of `v`.
struct Tensor {
  Dim d;
  float* v = nullptr;
  double* v64 = nullptr;

  Tensor() = default;
  Tensor(const Dim& dim, float* values) : d(dim), v(values) {}
  Tensor(const Dim& dim, double* values) : d(dim), v64(values) {}
  Tensor(const Dim& dim, DType dtype, void* values);

  DType dtype() const { return v64 != nullptr ? DType::f64 : DType::f32; }
  void* data() const { return v64 != nullptr ? static_cast<void*>(v64) : v; }

  /// Element i, whatever the type. Like all functions that read elements, throws UsageError for a
  /// default-constructed tensor.
  double at(std::size_t i) const {
    const double number = v64 != nullptr ? v64[i] : static_cast<double>(floats()[i]);
    if (number != number) check_not_forgotten(i);
    return number;
  }
  void set(std::size_t i, double value) const {
    v64 != nullptr ? void(v64[i] = value) : void(floats()[i] = static_cast<float>(value));
  }

  /// Whether every element is a finite number.
  bool is_valid() const;

  float* batch_ptr(unsigned b) const { return v + b * d.batch_size(); }
  /// Element b of the minibatch. Throws ShapeError if there is none.
  Tensor batch_elem(unsigned b) const;
  std::vector<Tensor> batch_elems() const;

 private:
  float* floats() const {
    if (v == nullptr) throw_empty();
    return v;
  }
  void check_not_forgotten(std::size_t i) const;
  [[noreturn]] static void throw_empty();
};

/// The only element. Throws ShapeError if there are more.
float as_scalar(const Tensor& tensor);
/// All elements, in column-major order.
std::vector<float> as_vector(const Tensor& tensor);
std::vector<double> as_doubles(const Tensor& tensor);

/// Prints each row on a line of its own, and an empty line between minibatch elements.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace dynet_like
