// Integers that the user writes after a node was recorded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like {

/// One integer or several at a place of the user. They are read when the graph runs and must live
/// until then; how many there are is fixed when the node is recorded.
struct IntegersAt {
  const std::uint32_t* place = nullptr;
  const std::vector<std::uint32_t>* list = nullptr;

  IntegersAt() = default;
  IntegersAt(const std::uint32_t* one) : place(one) {}
  IntegersAt(const std::vector<std::uint32_t>* several) : list(several) {}

  bool given() const { return place != nullptr || list != nullptr; }
  std::span<const std::uint32_t> now() const {
    return list != nullptr ? std::span(*list) : std::span(place, place == nullptr ? 0 : 1);
  }
};

}  // namespace dynet_like
