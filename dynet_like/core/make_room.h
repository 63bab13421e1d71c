// Room for one more element, made before anything is changed, so that appending cannot fail.
#pragma once

#include <cstddef>
#include <vector>

namespace dynet_like::detail {

/// After this, one push_back allocates nothing. If the allocation throws, the list is unchanged.
template <class T>
void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
}

}  // namespace dynet_like::detail
