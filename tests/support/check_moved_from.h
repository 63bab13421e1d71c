// Uses objects after they were moved from.
#pragma once

#include <utility>

namespace dynet_like {

// Moves an object away and back. Uses the object and the one that was moved from, each time.
template <class T, class Use>
void check_moved_from(T object, const Use& use) {
  T moved = std::move(object);
  use(object);
  use(moved);
  object = std::move(moved);
  use(object);
  use(moved);
}

}  // namespace dynet_like
