// The named tensors of a file in memory, for all file formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dynet_like {

/// One tensor of a file. Its elements are little-endian and row-major: the last index of `shape`
/// changes fastest. A Tensor and Parameter::set_value are column-major: load_parameter converts.
/// The bytes belong to the object that read the file or, for writing, to the caller.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< its name in safetensors: "F32", "F64", "I64", "U8", ...
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

/// The tensors of a file that has been checked completely.
class TensorEntries {
 public:
  // The entries point into the storage, so the object may be moved but not copied.
  TensorEntries(TensorEntries&&) = default;
  TensorEntries& operator=(TensorEntries&&) = default;

  /// The tensors in the order of the file.
  std::span<const TensorEntry> entries() const { return entries_; }
  /// The tensor of that name, or nullptr.
  const TensorEntry* find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &entries_[found->second];
  }
  /// The path of the file, for messages.
  const std::string& name() const { return name_; }

 protected:
  explicit TensorEntries(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::vector<std::shared_ptr<const void>> storage_;  ///< the memory that entries point to
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  ///< index of each name
};

}  // namespace dynet_like
