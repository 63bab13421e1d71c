// Tensors as safetensors files hold them; internal to model files and checkpoints.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::detail::tensor_file {

/// Keys of metadata and names of tensors that begin so are not the user's.
inline constexpr std::string_view kReserved = "dynet_like.", kTrainer = "trainer/";

/// A tensor and its name in a file. There its elements are row-major, in the same shape, but for a
/// table, whose rows come first: W[i][j] is the same element everywhere.
struct NamedTensor {
  std::string name;
  Tensor values;
  bool is_table = false;
};

using Parameters = std::vector<std::shared_ptr<ParameterStorage>>;

/// Their tensors, in the same order; rows that a trainer left behind are brought up to date.
std::vector<NamedTensor> tensors_of(const Parameters& parameters);

/// Throws UsageError for a key that belongs to the library.
void check_keys(const std::map<std::string, std::string>& metadata);
/// The metadata without what belongs to the library.
std::map<std::string, std::string> user_metadata(const SafetensorsFile& file);

/// Tensors as a file gets them.
struct Entries {
  std::vector<TensorEntry> entries;
  std::vector<std::vector<std::byte>> copies;  ///< what entries point to if their order changes
};
Entries entries_of(std::span<const NamedTensor> tensors);

/// Throws FileError unless the file has these tensors, in their shapes and types or in numbers of
/// 16 bits, which become those when they are read, and, if they are refused, no others but a
/// trainer's.
void check(const TensorEntries& file, std::span<const NamedTensor> tensors, bool refuse_extra);
/// Fills tensors that were checked. Cannot fail.
void read(const TensorEntries& file, std::span<const NamedTensor> tensors);
/// The same for those of parameters, whose versions are counted up.
void read(const TensorEntries& file, std::span<const NamedTensor> tensors,
          const Parameters& parameters);

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& need,
                       const std::string& got);

}  // namespace dynet_like::detail::tensor_file
