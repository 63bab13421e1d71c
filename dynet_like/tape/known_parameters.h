// The parameters that a tape has recorded, and their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet_like {
struct ParameterStorage;
}

namespace dynet_like::detail {

/// A small hash table from parameters to their values in one tape.
class KnownParameters {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The value of a parameter, constant or not, or kNone.
  std::uint32_t find(const ParameterStorage* parameter, bool constant) const {
    return places_[place_of(parameter)].value[constant];
  }
  void add(const ParameterStorage* parameter, bool constant, std::uint32_t value);
  /// Removes the values from `end` on.
  void revert(std::uint32_t end);

 private:
  struct Place {
    const ParameterStorage* parameter = nullptr;
    std::uint32_t value[2] = {kNone, kNone};
  };

  // The place where the parameter is, or would be inserted.
  std::size_t place_of(const ParameterStorage* parameter) const {
    const auto hash = reinterpret_cast<std::uintptr_t>(parameter) * 0x9E3779B97F4A7C15ull;
    std::size_t at = hash >> 32 & mask_;
    while (places_[at].parameter != parameter && places_[at].parameter != nullptr) {
      at = (at + 1) & mask_;
    }
    return at;
  }

  std::vector<Place> places_ = std::vector<Place>(32);
  std::size_t mask_ = places_.size() - 1, used_ = 0;
};

}  // namespace dynet_like::detail
