// A device and its internals, for programs that measure or test single calls.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dynet_like/device/cuda/cuda_device.h"

namespace dynet_like::bench::gpu {

namespace cuda = detail::cuda;

/// The device that --device or the environment names, opened a second time. Throws UsageError for
/// the CPU.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  cuda::Runtime& runtime() { return shared_->runtime; }
  cuda::Commands& commands() { return shared_->commands; }
  detail::Queue& queue() { return *queue_; }
  /// Whether kernels run on the CPU: then sizes should be small, and times mean nothing.
  bool is_emulated() const { return is_emulated_; }

  /// Memory of the device, which lives as long as this object.
  void* make(std::size_t bytes);
  float* put(const std::vector<float>& numbers);
  std::vector<float> get(const float* there, std::size_t count);

 private:
  std::shared_ptr<cuda::Shared> shared_;
  std::unique_ptr<detail::Queue> queue_;
  bool is_emulated_ = false;
  std::vector<void*> memory_;
};

/// Numbers from -1 to 1.
std::vector<float> draw(std::size_t count, unsigned seed);

/// A product of a matrix [rows, inner] and `columns` contiguous vectors, as in an op of the
/// library: W x; its gradient for x, W' dy; and its gradient for W, dy x'.
class Product {
 public:
  Product(Access& access, std::size_t rows, std::size_t inner, std::size_t columns);

  enum Kind { forward, gradient, outer };
  /// Queues a product, by the library's own kernels or by cuBLAS, without submitting it.
  void ask(Kind kind, bool by_cublas);

  double flops() const { return 2.0 * static_cast<double>(rows_ * inner_ * columns_); }
  /// The result of `ask`, and its number of elements.
  const float* result(Kind kind) const { return results_[kind]; }
  std::size_t result_size(Kind kind) const;
  float *w, *x, *dy;

 private:
  cuda::LibraryProduct library_product(Kind kind) const;
  void ask_own(Kind kind);

  Access& access_;
  std::size_t rows_, inner_, columns_;
  ops::Signature type_;
  float* results_[3];
  std::vector<const void*> x_places_, dy_places_;
  std::vector<void*> dx_places_;
  std::vector<std::uint8_t> add_;
};

}  // namespace dynet_like::bench::gpu
