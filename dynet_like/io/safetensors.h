// The safetensors file format: a JSON header, then the raw bytes of named tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/dtype.h"
#include "dynet_like/io/tensor_entries.h"

namespace dynet_like {

namespace safetensors {
struct Header;
}

/// The format's name of a type: "F32" or "F64".
constexpr std::string_view safetensors_name(DType dtype) {
  return dtype == DType::f32 ? "F32" : "F64";
}

/// Bytes per element of a type with this name in the format; 0 for unknown names, and for F4 and
/// F6, whose elements are smaller than a byte.
std::size_t safetensors_item_size(std::string_view dtype);

/// A file in memory that has been checked completely: sizes, offsets without gaps or overlaps,
/// names, and the checksums that write_safetensors() puts into the metadata. Files of other
/// programs have no checksums.
class SafetensorsFile : public TensorEntries {
 public:
  /// Throws FileError if the file cannot be read or breaks a rule of the format.
  static SafetensorsFile read(const std::filesystem::path& path);
  /// The same for bytes in memory; messages call the file `name`.
  static SafetensorsFile parse(std::vector<std::byte> bytes, const std::string& name);

  /// The metadata, without the checksums.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  SafetensorsFile(std::string name, std::shared_ptr<const void> memory,
                  std::span<const std::byte> data, safetensors::Header header);

  std::map<std::string, std::string> metadata_;
};

/// Writes a file atomically (see AtomicFile). Tensors with wide elements come first, so that all
/// are aligned; otherwise their order stays. The metadata get "dynet_like.header_crc32" and
/// "dynet_like.data_crc32", by which readers detect a damaged file. Throws FileError if the file
/// cannot be written, and UsageError for entries or metadata that the format does not allow.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace dynet_like
