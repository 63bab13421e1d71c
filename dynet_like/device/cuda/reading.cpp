// Readings: a copy to pinned memory, and a mark behind it.
#include <algorithm>
#include <utility>

#include "dynet_like/device/cuda/cuda_device.h"

namespace dynet_like::detail::cuda {

namespace {

class CudaReading final : public Reading {
 public:
  explicit CudaReading(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), arrived_(make_mark(*shared_)) {}
  ~CudaReading() override {
    const Lock lock(shared_->mutex);
    free_memory();
    shared_->runtime.free_mark(arrived_);
  }

  void begin(const void* from, std::size_t size) override {
    const Lock lock(shared_->mutex);
    if (size > size_) {
      free_memory();
      const std::size_t wanted = std::max<std::size_t>(2 * size, 256);
      memory_ = static_cast<std::byte*>(shared_->runtime.allocate_pinned(wanted));
      size_ = wanted;
    }
    shared_->commands.read(memory_, from, size, arrived_);
  }
  std::byte* wait() override {
    const Lock lock(shared_->mutex);
    shared_->commands.submit();
    shared_->runtime.wait_for(arrived_);
    return memory_;
  }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;

  static Mark make_mark(Shared& shared) {
    const Lock lock(shared.mutex);
    return shared.runtime.make_mark();
  }
  // A copy to this memory may still be waiting.
  void free_memory() noexcept {
    if (memory_ == nullptr) return;
    try {
      shared_->commands.submit();
    } catch (...) {  // the next call will report the same error; the copy was discarded
    }
    shared_->runtime.free_pinned(std::exchange(memory_, nullptr));
    size_ = 0;
  }

  const std::shared_ptr<Shared> shared_;
  const Mark arrived_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<Reading> make_reading(std::shared_ptr<Shared> shared) {
  return std::make_unique<CudaReading>(std::move(shared));
}

}  // namespace dynet_like::detail::cuda
