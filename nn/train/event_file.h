// Event files: numbers over the steps of a run, for TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace dynet_like::nn {

/// Appends scalars to an event file, in the format of TensorFlow's TFRecord and Event. TensorBoard
/// shows a folder's files if their names have "tfevents" in them. Every number is in the file, and
/// can be read, once add() has returned. What follows the last whole record, such as one that was
/// cut off by a crash, is removed when the file is opened again.
class EventFile {
 public:
  /// Opens a file to append to it, or a new one. Throws FileError if it is not an event file, or
  /// cannot be written.
  explicit EventFile(const std::filesystem::path& path);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// One number of the curve `tag`, such as "loss/train". Throws FileError, and UsageError for a
  /// tag above 64 KiB; then the file is as it was.
  void add(std::string_view tag, std::uint64_t step, float value);

 private:
  void append(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // of whole records
};

/// CRC-32C (Castagnoli), as in RFC 3720; records have it rotated and with a constant added.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dynet_like::nn
