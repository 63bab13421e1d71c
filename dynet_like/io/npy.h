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

// Magic bytes, a version, the header's length, and the header, a dictionary of Python such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and spaces up to a line end
// (numpy.lib.format, NEP 1).

inline constexpr std::string_view kMagic = "\x93NUMPY";

/// What a header says, in the names of safetensors, or numpy's name of a type that has none there.
struct Header {
  std::string dtype;
  std::size_t item_bytes = 0;  ///< 0 where it is not known
  bool column_major = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_begin = 0;  ///< in the bytes that begin with the header
};

/// Texts of numpy have one size each, filled up with zeros: "<U5" is 5 code points of 32 bits,
/// "|S5" 5 bytes. Nothing for the name of another type, and for texts of no size.
struct TextType {
  std::size_t bytes = 0;
  bool is_unicode = false;
};
std::optional<TextType> text_type(std::string_view dtype);

/// Reads the header at the beginning of the bytes, which must hold the whole array and no more, as
/// far as the size of its elements is known. Throws FileError; `array` is its name in messages.
Header parse_header(std::span<const std::byte> bytes, const std::string& file,
                    const std::string& array);

/// The header of a row-major array, such that its data begin at a multiple of 64 bytes. Throws
/// UsageError for a type that numpy does not have, or another number of bytes than the shape has.
std::string header_text(const TensorEntry& entry);

}  // namespace dynet_like::detail::npy
