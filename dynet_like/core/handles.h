// Which graphs and parameters are alive: lets a handle find out that its graph is not what it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dynet_like {
struct ParameterStorage;
}

namespace dynet_like::detail {

/// A place in the one registry of the process. It is never freed, only used again.
struct HandleSlot {
  /// Grows with every revert, and when a graph is cleared or destroyed.
  std::atomic<std::uint32_t> generation{0};
  /// The generation that the present graph, as it is since it was cleared, began with.
  std::atomic<std::uint32_t> first_generation{0};
  /// The parameter that has the slot; null: a graph has it, or nobody.
  std::atomic<ParameterStorage*> parameter{nullptr};

  /// Whether what was made in this generation belongs to the present graph.
  bool is_alive(std::uint32_t made) const {
    const std::uint32_t now = generation.load(std::memory_order_relaxed);
    return now - made <= now - first_generation.load(std::memory_order_relaxed);
  }
  /// All handles become stale.
  void start_anew() { first_generation = ++generation; }

  std::uint32_t number = 0;                 ///< in the registry
  std::atomic<std::uint32_t> next_free{0};  ///< while nobody has it: 1 + the number of another
};

/// Makes all handles of a slot stale and gives it back. Safe to call from several threads.
struct ReleaseHandleSlot {
  void operator()(HandleSlot* slot) const;
};
using OwnedHandleSlot = std::unique_ptr<HandleSlot, ReleaseHandleSlot>;

/// Takes a free slot, or a new one. Safe to call from several threads; it waits for none of them
/// unless there must be new slots.
OwnedHandleSlot acquire_handle_slot();
/// The slot of a parameter. Handles on it are made in its first generation, which is never the
/// latest one: nothing takes them for handles on a graph.
OwnedHandleSlot acquire_handle_slot(ParameterStorage& parameter);

}  // namespace dynet_like::detail
