// Integers that the user writes after a node was recorded.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace dynet_like {

/// One integer or several at a place of the user. They are read when the graph runs and must live
/// until then; how many there are is fixed when the node is recorded.
struct IntegersAt {
  const std::uint32_t* place = nullptr;
  const std::vector<std::uint32_t>* list = nullptr;

  IntegersAt() = default;
  // Templates, so that a 0 is an integer and never a null pointer.
  template <class Pointer>
  requires std::is_pointer_v<Pointer> && std::convertible_to<Pointer, const std::uint32_t*>
  IntegersAt(Pointer one) : place(one) {}
  template <class Pointer>
  requires std::is_pointer_v<Pointer> && std::convertible_to < Pointer,
      const std::vector<std::uint32_t>
  * > IntegersAt(Pointer several) : list(several) {}

  bool given() const { return place != nullptr || list != nullptr; }
  std::span<const std::uint32_t> now() const {
    return list != nullptr ? std::span(*list) : std::span(place, place == nullptr ? 0 : 1);
  }
};

}  // namespace dynet_like
