// A queue that measures the time spent in its kernels.
#pragma once

#include <memory>
#include <utility>

#include "dynet_like/device/kernel_clock.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail {

/// Passes every call on to another queue, sums up the time of the calls, and shows them on a
/// timeline if there is one.
class TimedQueue : public Queue {
 public:
  /// `clock` must outlive the queue.
  TimedQueue(std::unique_ptr<Queue> queue, KernelClock& clock, bool is_cpu)
      : queue_(std::move(queue)), clock_(clock), is_cpu_(is_cpu) {}

  const Kernels& kernels(const Op& op) const override { return queue_->kernels(op); }
  bool runs_on_cpu(const Op& op) const override { return queue_->runs_on_cpu(op); }
  void forward(Kernels::Forward kernel, const ForwardCall& call) override {
    const Timer timer(clock_, label_of(*call.type, false), nodes_and_items(call.n));
    queue_->forward(kernel, call);
  }
  void backward(Kernels::Backward kernel, const BackwardCall& call) override {
    const Timer timer(clock_, label_of(*call.type, true), nodes_and_items(call.n));
    queue_->backward(kernel, call);
  }
  void add_outer_products(DType dtype, const OuterProducts& call) override {
    const Timer timer(clock_, TimelineSpan::outer_products,
                      numbers(call.rows, call.columns, call.addends.n));
    queue_->add_outer_products(dtype, call);
  }
  void add_all(DType dtype, void* sum, std::size_t size, const Addends& addends,
               SumStart start) override {
    const Timer timer(clock_, TimelineSpan::sum, numbers(size, addends.n, 1));
    queue_->add_all(dtype, sum, size, addends, start);
  }
  void finish_sums() override {
    if (is_cpu_) return queue_->finish_sums();
    const Timer timer(clock_, TimelineSpan::finish_sums);
    queue_->finish_sums();
  }
  const void* ones(DType dtype, std::size_t size) override { return queue_->ones(dtype, size); }
  void write(void* to, const void* from, std::size_t size) override {
    const Timer timer(clock_, TimelineSpan::write, numbers(size));
    queue_->write(to, from, size);
  }
  void submit() override {
    if (is_cpu_) return queue_->submit();
    const Timer timer(clock_, TimelineSpan::submit);
    queue_->submit();
  }
  std::size_t packing(DType dtype) const override { return queue_->packing(dtype); }
  std::size_t packed_bytes(DType dtype, std::size_t rows, std::size_t columns,
                           bool transposed) const override {
    return queue_->packed_bytes(dtype, rows, columns, transposed);
  }
  void pack(DType dtype, const void* matrix, std::size_t rows, std::size_t columns, bool transposed,
            void* to) const override {
    const Timer timer(clock_, TimelineSpan::pack, numbers(rows, columns));
    queue_->pack(dtype, matrix, rows, columns, transposed, to);
  }

 private:
  class Timer {
   public:
    Timer(KernelClock& clock, std::uint32_t label, const TimelineNumbers& numbers = {})
        : clock_(clock), label_(label), numbers_(numbers) {}
    Timer(KernelClock& clock, TimelineSpan span, const TimelineNumbers& numbers = {})
        : Timer(clock, static_cast<std::uint32_t>(span), numbers) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
      const TimelineClock::time_point end = TimelineClock::now();
      clock_.seconds += std::chrono::duration<double>(end - begin_).count();
      if (clock_.track == nullptr) return;
      if (label_ == static_cast<std::uint32_t>(TimelineSpan::sum)) {
        clock_.track->add_to_last(label_, begin_, end, numbers_);
      } else {
        clock_.track->add(label_, begin_, end, numbers_);
      }
    }

   private:
    KernelClock& clock_;
    std::uint32_t label_;
    TimelineNumbers numbers_;
    TimelineClock::time_point begin_ = TimelineClock::now();
  };

  static TimelineNumbers numbers(std::size_t a, std::size_t b = 0, std::size_t c = 0) {
    return {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b),
            static_cast<std::uint32_t>(c)};
  }
  TimelineNumbers nodes_and_items(std::size_t items) {
    const std::uint32_t nodes = std::exchange(clock_.nodes, 0);
    return numbers(nodes == 0 ? items : nodes, items);
  }
  std::uint32_t label_of(const Signature& type, bool backward) {
    if (clock_.track == nullptr) return 0;
    return labels_.of(clock_.track->state, type, backward);
  }

  std::unique_ptr<Queue> queue_;
  KernelClock& clock_;
  KernelLabels labels_;
  bool is_cpu_;
};

}  // namespace dynet_like::detail
