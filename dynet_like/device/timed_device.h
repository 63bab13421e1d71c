// A device that measures the time spent in its kernels.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "dynet_like/device/device.h"

namespace dynet_like {

/// Passes every call on to another device, and adds up how long they took.
class TimedDevice : public Device {
 public:
  /// `seconds` must outlive the device.
  TimedDevice(std::unique_ptr<Device> device, double& seconds)
      : device_(std::move(device)), seconds_(seconds) {}

  const Kernels& kernels(const Op& op) const override { return device_->kernels(op); }
  void forward(Kernels::Forward kernel, const ForwardCall& call) override {
    const Timer timer(seconds_);
    device_->forward(kernel, call);
  }
  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Timer timer(seconds_);
    device_->backward(kernel, call);
  }
  void add_outer_products(DType dtype, const OuterProducts& call) override {
    const Timer timer(seconds_);
    device_->add_outer_products(dtype, call);
  }
  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
               bool fresh) override {
    const Timer timer(seconds_);
    device_->add_all(dtype, sum, size, addends, fresh);
  }
  std::size_t packing(DType dtype) const override { return device_->packing(dtype); }
  std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                           bool transposed) const override {
    return device_->packed_bytes(dtype, rows, columns, transposed);
  }
  void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
            void* to) const override {
    const Timer timer(seconds_);
    device_->pack(dtype, matrix, rows, columns, transposed, to);
  }

 private:
  class Timer {
   public:
    explicit Timer(double& seconds) : seconds_(seconds) {}
    ~Timer() {
      seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

   private:
    double& seconds_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  std::unique_ptr<Device> device_;
  double& seconds_;
};

}  // namespace dynet_like
