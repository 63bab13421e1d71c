// The registry of handle slots.
#include "dynet_like/graph/handles.h"

#include <deque>
#include <mutex>
#include <utility>

namespace dynet_like::detail {

namespace {

struct Registry {
  std::mutex mutex;
  std::deque<HandleSlot> slots;
  HandleSlot* free = nullptr;  // the first of a list
};

// Lives until the process ends: handles in static objects may be used until then.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

OwnedHandleSlot acquire_handle_slot() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.free == nullptr) return OwnedHandleSlot(&all.slots.emplace_back());
  return OwnedHandleSlot(std::exchange(all.free, all.free->next_free));
}

void ReleaseHandleSlot::operator()(HandleSlot* slot) const {
  slot->start_anew();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  slot->next_free = std::exchange(all.free, slot);
}

}  // namespace dynet_like::detail
