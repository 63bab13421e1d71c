// EventFile: writes numbers for TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace dynet_like::nn {

/// Appends scalars to an event file, in the format of TensorFlow's TFRecord and Event. TensorBoard
/// shows the files of a folder whose names contain "tfevents". When add() returns, the number is in
/// the file.
class EventFile {
 public:
  /// Opens a file for appending, or makes a new one. Throws FileError.
  explicit EventFile(const std::filesystem::path& path);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds a number to the curve `tag`, such as "loss/train". Throws FileError.
  void add(std::string_view tag, std::uint64_t step, float value);

 private:
  void append(const std::string& event);

  std::string name_;
  std::ofstream out_;
};

/// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace dynet_like::nn
