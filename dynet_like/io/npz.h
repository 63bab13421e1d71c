// Arrays of Python's numpy: one in an .npy file, any number with names in an .npz file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/io/tensor_entries.h"

namespace dynet_like {

namespace detail::zip {
struct Member;
}

/// Deflated arrays (savez_compressed) can be a thousand times as large as their file. This limit
/// keeps a small file from filling the memory.
inline constexpr std::uint64_t kMaxInflatedBytes = std::uint64_t{1} << 32;

/// The arrays of a numpy file. Arrays of an .npz file have the names that were given to savez
/// ("arr_0" by default); the array of an .npy file has no name. Arrays of little-endian numbers,
/// booleans and texts are row-major here, whatever their order in the file; texts() decodes the
/// last. Arrays of other types keep their bytes and numpy's name of the type, such as "|O" for
/// objects.
class NumpyFile : public TensorEntries {
 public:
  /// Reads an .npz or .npy file; its first bytes tell which it is. Throws FileError if it cannot be
  /// read, is damaged, or has records.
  static NumpyFile read(const std::filesystem::path& path,
                        std::uint64_t max_inflated_bytes = kMaxInflatedBytes);
  /// The same for bytes in memory; `name` stands for the file in messages.
  static NumpyFile parse(std::vector<std::byte> bytes, const std::string& name,
                         std::uint64_t max_inflated_bytes = kMaxInflatedBytes);

  /// The elements of an array of texts, such as words beside their vectors: "<U5" converted to
  /// UTF-8, "|S5" unchanged. Throws FileError if there is no such array, or its elements are not
  /// texts.
  std::vector<std::string> texts(const std::string& name) const;

 private:
  using TensorEntries::TensorEntries;
  void add(std::vector<detail::zip::Member> members);
  void add(const std::string& name, std::vector<std::byte> file);
};

/// Writes arrays to an uncompressed .npz file, atomically (see AtomicFile). Throws FileError if it
/// cannot be written, and UsageError for entries that the format does not allow: names that are
/// empty, too long, used twice, or with zero bytes, or types that numpy does not have.
void write_npz(const std::filesystem::path& path, std::span<const TensorEntry> entries);
/// Writes one array to an .npy file; its name is not used. Throws as above.
void write_npy(const std::filesystem::path& path, const TensorEntry& entry);

}  // namespace dynet_like
