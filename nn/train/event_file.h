// Event files: write numbers for TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace dynet_like::nn {

/// Appends scalars to an event file, in the format of TensorFlow's TFRecord and Event. TensorBoard
/// shows the files of a folder whose names contain "tfevents". When add() returns, the number is in
/// the file. An incomplete record at the end, as after a crash, is removed when the file is opened
/// again.
class EventFile {
 public:
  /// Opens a file for appending, or makes a new one. Throws FileError if it is not an event file,
  /// or cannot be written.
  explicit EventFile(const std::filesystem::path& path);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds a number to the curve `tag`, such as "loss/train". Throws FileError, and UsageError for a
  /// tag above 64 KiB; then the file is unchanged.
  void add(std::string_view tag, std::uint64_t step, float value);

 private:
  void append(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // of whole records
};

/// CRC-32C (Castagnoli), as in RFC 3720. Records contain the masked one: rotated, plus a constant.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace dynet_like::nn
