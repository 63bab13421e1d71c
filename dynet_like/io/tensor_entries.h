// The named tensors of a file in memory, whatever the format of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dynet_like {

/// One tensor of a file. The elements are little-endian and row-major: the last index of `shape`
/// changes fastest. The bytes belong to what was read or, for writing, to the caller.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< as safetensors names it: "F32", "F64", "I64", "U8", ...
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

/// The tensors of a file that has been checked in full.
class TensorEntries {
 public:
  // The entries point into the storage: it may move with them, but not be copied.
  TensorEntries(TensorEntries&&) = default;
  TensorEntries& operator=(TensorEntries&&) = default;

  /// The tensors in the order of the file.
  std::span<const TensorEntry> entries() const { return entries_; }
  /// The tensor of that name, or nullptr.
  const TensorEntry* find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &entries_[found->second];
  }
  /// What messages call the file: its path.
  const std::string& name() const { return name_; }

 protected:
  explicit TensorEntries(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::vector<std::vector<std::byte>> storage_;  ///< what the entries point to
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  ///< the place of every name
};

}  // namespace dynet_like
