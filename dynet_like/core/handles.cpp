// The registry of handle slots: a lock-free stack of free slots, shared by all threads.
#include "dynet_like/core/handles.h"

#include <array>
#include <bit>
#include <cstddef>
#include <mutex>

namespace dynet_like::detail {

namespace {

/// Slots are allocated in blocks, each twice as large as the one before: the number of a slot
/// determines its block.
class Registry {
 public:
  HandleSlot* take() {
    std::uint64_t top = top_.load(std::memory_order_acquire);
    while (true) {
      if (number_of(top) == 0) {
        add_block();
        top = top_.load(std::memory_order_acquire);
        continue;
      }
      HandleSlot& slot = at(number_of(top) - 1);
      const std::uint32_t next = slot.next_free.load(std::memory_order_relaxed);
      if (top_.compare_exchange_weak(top, above(top, next), std::memory_order_acquire))
        return &slot;
    }
  }

  void give_back(HandleSlot& slot) {
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    do {
      slot.next_free.store(number_of(top), std::memory_order_relaxed);
    } while (
        !top_.compare_exchange_weak(top, above(top, slot.number + 1), std::memory_order_release));
  }

 private:
  static constexpr std::uint32_t kFirstBlock = 64;

  // The lower half of the top is 1 + the number of a slot, or 0. The upper half counts changes:
  // without it, a thread might not notice that the slot on top was taken and returned meanwhile
  // (the ABA problem).
  static std::uint32_t number_of(std::uint64_t top) { return static_cast<std::uint32_t>(top); }
  static std::uint64_t above(std::uint64_t top, std::uint32_t number) {
    return ((top >> 32) + 1) << 32 | number;
  }

  HandleSlot& at(std::uint32_t number) {
    const std::uint32_t from_one = number / kFirstBlock + 1;
    const auto block = static_cast<std::size_t>(std::bit_width(from_one)) - 1;
    const std::uint32_t first = kFirstBlock * ((std::uint32_t{1} << block) - 1);
    return blocks_[block].load(std::memory_order_acquire)[number - first];
  }

  void add_block() {
    const std::lock_guard lock(growth_);
    if (number_of(top_.load(std::memory_order_acquire)) != 0) return;  // another thread has
    const std::uint32_t size = kFirstBlock << blocks_used_;
    auto* const block = new HandleSlot[size];
    blocks_[blocks_used_++].store(block, std::memory_order_release);
    for (std::uint32_t i = 0; i < size; ++i) {
      block[i].number = size - kFirstBlock + i;
      give_back(block[i]);
    }
  }

  std::atomic<std::uint64_t> top_{0};
  std::array<std::atomic<HandleSlot*>, 26> blocks_{};
  std::mutex growth_;
  std::size_t blocks_used_ = 0;
};

// Never destroyed, since static objects may use handles until the process ends.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

OwnedHandleSlot acquire_handle_slot() { return OwnedHandleSlot(registry().take()); }

OwnedHandleSlot acquire_handle_slot(ParameterStorage& parameter) {
  OwnedHandleSlot slot = acquire_handle_slot();
  slot->parameter = &parameter;
  ++slot->generation;
  return slot;
}

void ReleaseHandleSlot::operator()(HandleSlot* slot) const {
  slot->start_anew();
  slot->parameter = nullptr;
  registry().give_back(*slot);
}

}  // namespace dynet_like::detail
