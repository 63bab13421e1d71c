// Which graphs are alive: lets a handle find out that its graph is not what it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dynet_like::detail {

/// A place in the one registry of the process. It is never freed, only used again.
struct HandleSlot {
  /// Grows with every revert, and when a graph is cleared or destroyed.
  std::atomic<std::uint32_t> generation{0};
  /// The generation that the present graph, as it is since it was cleared, began with.
  std::atomic<std::uint32_t> first_generation{0};

  /// Whether what was made in this generation belongs to the present graph.
  bool is_alive(std::uint32_t made) const {
    const std::uint32_t now = generation.load(std::memory_order_relaxed);
    return now - made <= now - first_generation.load(std::memory_order_relaxed);
  }
  /// All handles become stale.
  void start_anew() { first_generation = ++generation; }

  HandleSlot* next_free = nullptr;  ///< while nobody has it
};

/// Makes all handles of a slot stale and gives it back. Safe to call from several threads.
struct ReleaseHandleSlot {
  void operator()(HandleSlot* slot) const;
};
using OwnedHandleSlot = std::unique_ptr<HandleSlot, ReleaseHandleSlot>;

/// Takes a free slot, or a new one. Safe to call from several threads.
OwnedHandleSlot acquire_handle_slot();

}  // namespace dynet_like::detail
