// Arrays of Python's numpy: .npy files of one, .npz files of many with names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/io/tensor_entries.h"

namespace dynet_like {

/// Deflated arrays (savez_compressed) may be a thousand times as large as a file, so that a small
/// one could fill the memory.
inline constexpr std::uint64_t kMaxInflatedBytes = std::uint64_t{1} << 32;

/// The arrays of a file of numpy, all of them row-major, whatever they are in the file. Of an .npz
/// file they have the names that savez was given ("arr_0" without); that of an .npy file has none.
/// Arrays other than of little-endian numbers, truths and texts have numpy's name of their type,
/// such as "|O" for objects, and their bytes as they are in the file.
class NumpyFile : public TensorEntries {
 public:
  /// Reads a file of either kind: which one its first bytes say. Throws FileError if it cannot be
  /// read, is damaged, or has records.
  static NumpyFile read(const std::filesystem::path& path,
                        std::uint64_t max_inflated_bytes = kMaxInflatedBytes);
  /// The same for bytes in memory; `name` stands for the file in messages.
  static NumpyFile parse(std::vector<std::byte> bytes, const std::string& name,
                         std::uint64_t max_inflated_bytes = kMaxInflatedBytes);

  /// The elements of an array of texts, such as words beside their vectors: "<U5" in UTF-8, "|S5"
  /// as they are. Throws FileError if there is no such array, or one of other elements.
  std::vector<std::string> texts(const std::string& name) const;

 private:
  using TensorEntries::TensorEntries;
  void add(const std::string& name, std::span<const std::byte> bytes);
};

/// Writes arrays to an .npz file, atomically (see AtomicFile) and not compressed. Throws FileError
/// if it cannot be written, and UsageError for entries that the format does not allow: names that
/// are empty, too long, used twice, or with zero bytes, types that numpy does not have.
void write_npz(const std::filesystem::path& path, std::span<const TensorEntry> entries);
/// Writes one array, whose name does not matter, to an .npy file. Throws as above.
void write_npy(const std::filesystem::path& path, const TensorEntry& entry);

}  // namespace dynet_like
