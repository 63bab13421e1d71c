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
    return entries_[find_entry(parameter)].value[constant];
  }
  void add(const ParameterStorage* parameter, bool constant, std::uint32_t value);
  /// Removes the values from `end` on.
  void revert(std::uint32_t end);

 private:
  struct Entry {
    const ParameterStorage* parameter = nullptr;
    std::uint32_t value[2] = {kNone, kNone};
  };

  // The entry of the parameter, or the empty one that it would get.
  std::size_t find_entry(const ParameterStorage* parameter) const {
    const auto hash = reinterpret_cast<std::uintptr_t>(parameter) * 0x9E3779B97F4A7C15ull;
    std::size_t at = hash >> 32 & mask_;
    while (entries_[at].parameter != parameter && entries_[at].parameter != nullptr) {
      at = (at + 1) & mask_;
    }
    return at;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(32);
  std::size_t mask_ = entries_.size() - 1, used_ = 0;
};

}  // namespace dynet_like::detail
