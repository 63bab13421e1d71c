// The header of an array in numpy's .npy format; internal to npz.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/io/tensor_entries.h"

namespace dynet_like::detail::npy {

// Magic bytes, a version, the header's length, and the header: a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces up to a line end
// (numpy.lib.format, NEP 1).

inline constexpr std::string_view kMagic = "\x93NUMPY";

/// The contents of a header. The type has its name in safetensors or, if there is none, in numpy.
struct Header {
  std::string dtype;
  std::size_t item_bytes = 0;  ///< 0 if not known
  bool column_major = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_begin = 0;  ///< offset from the first byte of the header
};

/// An element of a numpy array of texts has a fixed size, padded with zeros: "<U5" is 5 code points
/// of 32 bits, "|S5" is 5 bytes. Nothing for the names of other types, and for texts of size 0.
struct TextType {
  std::size_t bytes = 0;
  bool is_unicode = false;
};
std::optional<TextType> text_type(std::string_view dtype);

/// Reads the header at the beginning of the bytes. The bytes must be exactly the array, as far as
/// the size of its elements is known. Throws FileError; `array` is its name in messages.
Header parse_header(std::span<const std::byte> bytes, const std::string& file,
                    const std::string& array);

/// The header of a row-major array, padded so that the data begin at a multiple of 64 bytes. Throws
/// UsageError for a type that numpy does not have, or if the number of bytes does not fit the
/// shape.
std::string header_text(const TensorEntry& entry);

}  // namespace dynet_like::detail::npy
