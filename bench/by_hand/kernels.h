// The library's kernels, called directly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::bench::by_hand {

using namespace detail;  // the kernels are the library's

/// The addresses of the items of an argument.
using Places = std::vector<const void*>;

/// An address per node of [begin, end).
template <class Place>
Places places(std::size_t begin, std::size_t end, const Place& place) {
  Places all;
  all.reserve(end - begin);
  for (std::size_t v = begin; v < end; ++v) all.push_back(place(v));
  return all;
}

/// The same for n contiguous items of `size` numbers each.
inline Places rows(const float* first, std::size_t n, std::size_t size) {
  return places(0, n, [&](std::size_t v) { return first + v * size; });
}

/// Where the gradients of an argument are written, or added to the existing ones.
class GradientPlaces {
 public:
  GradientPlaces(const Places& places, bool add) : add_(places.size(), add) {
    for (const void* place : places) places_.push_back(const_cast<void*>(place));
  }
  void* const* items() const { return places_.data(); }
  Destination destination() const { return from(0); }
  /// The gradients from item `first` on.
  Destination from(std::size_t first) const { return {items() + first, add_.data() + first}; }

 private:
  std::vector<void*> places_;
  std::vector<std::uint8_t> add_;
};

/// values -= rate * gradient.
void descend(float* values, const float* gradient, std::size_t count, float rate);

/// A matrix or vector of the model. A matrix is packed for products in both directions.
class Weight {
 public:
  Weight(Queue& queue, std::string name, const Dim& dim, std::vector<float> values);

  const std::string& name() const { return name_; }
  const Dim& dim() const { return dim_; }
  /// Floating-point operations of its product with one vector.
  double flops() const { return 2.0 * static_cast<double>(dim_.size()); }
  const float* values() const { return values_.data(); }
  /// For products with so many columns. If there have been few since the last update, it is not
  /// packed.
  Operand operand(std::size_t columns = kWorthPacking);
  Operand transposed() const { return {nullptr, values_.data(), packed_transpose_.data()}; }

  /// Sets the gradient to the sum of all dy_i x_i', or of all dy_i.
  void set_gradient(const Places& dy, const Places& x);
  void set_gradient(const Places& dy);
  /// gradient[first, first + size) += the sum of all dy_i.
  void add_gradient(std::size_t first, std::size_t size, const Places& dy);
  /// Makes a step of gradient descent.
  void update(float rate);

 private:
  // As in the library. The transpose is always packed: otherwise its kernel would pack it.
  static constexpr std::size_t kWorthPacking = 32;

  void pack_transpose();

  Queue* queue_;
  std::string name_;
  Dim dim_;
  std::vector<float> values_, gradient_;
  Block packed_, packed_transpose_;
  std::size_t columns_ = 0;  ///< of products since the last update
  bool is_packed_ = false;
};

/// An op with fixed shapes. Matrices and biases are shared, all other inputs are one per item.
class Layer {
 public:
  Layer(Queue& queue, const Op& op, std::vector<Dim> inputs,
        std::vector<std::uint32_t> attributes = {});

  /// Makes an input that could be shared, such as a bias, one per item.
  void stack(unsigned input) { type_.shared[input] = 0; }
  const Signature& type() const { return type_; }
  void forward(std::size_t n, std::span<const Operand> in, float* out, float* saved,
               const std::uint32_t* integers = nullptr);
  /// `call` must have everything except the type, the input count and the kernel.
  void backward(const BackwardCall& call);
  /// The same for an op whose backward needs only its inputs.
  void backward(const Operand* in, std::span<const void* const> dy, const Destination* dx);

 private:
  Queue* queue_;
  Signature type_;
  const Kernels* kernels_;
};

}  // namespace dynet_like::bench::by_hand
