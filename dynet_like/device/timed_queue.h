// A queue that measures the time spent in its kernels.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "dynet_like/device/queue.h"

namespace dynet_like::detail {

/// Passes every call on to another queue, and adds up how long they took.
class TimedQueue : public Queue {
 public:
  /// `seconds` must outlive the queue.
  TimedQueue(std::unique_ptr<Queue> queue, double& seconds)
      : queue_(std::move(queue)), seconds_(seconds) {}

  const Kernels& kernels(const Op& op) const override { return queue_->kernels(op); }
  bool runs_on_cpu(const Op& op) const override { return queue_->runs_on_cpu(op); }
  void forward(Kernels::Forward kernel, const ForwardCall& call) override {
    const Timer timer(seconds_);
    queue_->forward(kernel, call);
  }
  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Timer timer(seconds_);
    queue_->backward(kernel, call);
  }
  void add_outer_products(DType dtype, const OuterProducts& call) override {
    const Timer timer(seconds_);
    queue_->add_outer_products(dtype, call);
  }
  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
               SumStart start) override {
    const Timer timer(seconds_);
    queue_->add_all(dtype, sum, size, addends, start);
  }
  void finish_sums() override {
    const Timer timer(seconds_);
    queue_->finish_sums();
  }
  const void* ones(DType dtype, std::size_t size) override { return queue_->ones(dtype, size); }
  void write(void* to, const void* from, std::size_t size) override {
    const Timer timer(seconds_);
    queue_->write(to, from, size);
  }
  void submit() override {
    const Timer timer(seconds_);
    queue_->submit();
  }
  std::size_t packing(DType dtype) const override { return queue_->packing(dtype); }
  std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                           bool transposed) const override {
    return queue_->packed_bytes(dtype, rows, columns, transposed);
  }
  void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
            void* to) const override {
    const Timer timer(seconds_);
    queue_->pack(dtype, matrix, rows, columns, transposed, to);
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

  std::unique_ptr<Queue> queue_;
  double& seconds_;
};

}  // namespace dynet_like::detail
