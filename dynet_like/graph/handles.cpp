// The registry of handle slots.
#include "dynet_like/graph/handles.h"

#include <deque>
#include <mutex>
#include <vector>

namespace dynet_like {

namespace {

struct Registry {
  std::mutex mutex;
  std::deque<HandleSlot> slots;
  std::vector<HandleSlot*> free;
};

// Lives until the process ends: handles in static objects may be used until then.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

HandleSlot* acquire_handle_slot() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.free.empty()) return &all.slots.emplace_back();
  HandleSlot* slot = all.free.back();
  all.free.pop_back();
  return slot;
}

void release_handle_slot(HandleSlot* slot) {
  slot->start_anew();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.free.push_back(slot);
}

}  // namespace dynet_like
