// Which graphs are alive: lets a handle find out that its graph is not what it was.
#pragma once

#include <atomic>
#include <cstdint>

namespace dynet_like {

/// A place in the one registry of the process. It is never freed, only used again.
struct HandleSlot {
  std::atomic<std::uint32_t> generation{0};
};

/// Takes a free slot, or a new one. Safe to call from several threads.
HandleSlot* acquire_handle_slot();
/// Ends the slot's generation and gives it back.
void release_handle_slot(HandleSlot* slot);

}  // namespace dynet_like
