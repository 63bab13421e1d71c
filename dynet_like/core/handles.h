// Handle slots: let a handle, such as an Expression, find out that its graph was cleared or
// destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dynet_like {
struct ParameterStorage;
}

namespace dynet_like::detail {

/// A slot in the registry of the process. It is never freed, only reused.
struct HandleSlot {
  /// Grows with every revert, and when a graph is cleared or destroyed.
  std::atomic<std::uint32_t> generation{0};
  /// The generation in which the present graph was made or last cleared.
  std::atomic<std::uint32_t> first_generation{0};
  /// The parameter that owns the slot; null: a graph owns it, or it is free.
  std::atomic<ParameterStorage*> parameter{nullptr};

  /// Whether a handle of this generation belongs to the present graph.
  bool is_alive(std::uint32_t made) const {
    const std::uint32_t now = generation.load(std::memory_order_relaxed);
    return now - made <= now - first_generation.load(std::memory_order_relaxed);
  }
  /// Makes all handles stale.
  void start_anew() { first_generation = ++generation; }

  std::uint32_t number = 0;                 ///< in the registry
  std::atomic<std::uint32_t> next_free{0};  ///< 1 + the number of the next free slot, or 0
};

/// Makes all handles of a slot stale and gives it back. Safe to call from several threads.
struct ReleaseHandleSlot {
  void operator()(HandleSlot* slot) const;
};
using OwnedHandleSlot = std::unique_ptr<HandleSlot, ReleaseHandleSlot>;

/// Takes a free slot, or a new one. Safe to call from several threads; it only locks to allocate
/// new slots.
OwnedHandleSlot acquire_handle_slot();
/// A slot for a parameter. Its handles have the first generation, which is never the latest: so
/// they cannot be mistaken for handles of a graph.
OwnedHandleSlot acquire_handle_slot(ParameterStorage& parameter);

}  // namespace dynet_like::detail
