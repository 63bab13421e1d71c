// Tensors as they are in files; internal to model files, checkpoints and word vectors.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::detail::tensor_file {

/// Keys of metadata and names of tensors that begin so belong to the library.
inline constexpr std::string_view kReserved = "dynet_like.", kTrainer = "trainer/";

/// A tensor and its name in a file. The file has its elements in row-major order with the same
/// shape; of a table, rows are the first dimension. So W[i][j] is the same element everywhere.
struct NamedTensor {
  std::string name;
  Tensor values;
  bool is_table = false;
};

using Parameters = std::vector<std::shared_ptr<ParameterStorage>>;

/// The tensors of parameters, in the same order. First brings rows that a trainer left behind up to
/// date.
std::vector<NamedTensor> tensors_of(const Parameters& parameters);

/// Throws UsageError for a key that belongs to the library.
void check_keys(const std::map<std::string, std::string>& metadata);
/// The metadata without keys that belong to the library.
std::map<std::string, std::string> user_metadata(const SafetensorsFile& file);

/// Tensors, ready to be written.
struct Entries {
  std::vector<TensorEntry> entries;
  std::vector<std::vector<std::byte>> copies;  ///< for entries whose order of elements changes
};
Entries entries_of(std::span<const NamedTensor> tensors);

/// Why an entry cannot be read into a tensor: the type and shape that it needs, and those that it
/// has. Numbers of 16 bits fit 32 and 64: reading converts them.
struct Mismatch {
  std::string wanted, found;
};
std::optional<Mismatch> mismatch_of(const TensorEntry& entry, const NamedTensor& tensor);

/// Throws FileError unless the file has these tensors with their shapes and types. Numbers of 16
/// bits are allowed, too: reading converts them. With `refuse_extra` the file may have no other
/// tensors, except a trainer's.
void check(const TensorEntries& file, std::span<const NamedTensor> tensors, bool refuse_extra);
/// Fills tensors after `check`. Cannot fail.
void read(const TensorEntries& file, std::span<const NamedTensor> tensors);
/// The same for the tensors of parameters, and counts up their versions.
void read(const TensorEntries& file, std::span<const NamedTensor> tensors,
          const Parameters& parameters);

/// Whether an entry has floating-point numbers that read_into() converts: F64, F32, F16 or BF16.
bool is_float(const TensorEntry& entry);
/// Fills a parameter or table from an entry of such numbers with its shape, and counts up its
/// version. Cannot fail.
void read_into(const TensorEntry& entry, const std::shared_ptr<ParameterStorage>& parameter);

/// The index of the first NaN in the order of the file, if such an entry has one.
std::optional<std::size_t> first_nan(const TensorEntry& entry);

/// The numbers of an F32, F16 or BF16 entry in the order of the file, which is row-major; empty for
/// other types.
std::vector<float> floats_of(const TensorEntry& entry);

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& need,
                       const std::string& got);

}  // namespace dynet_like::detail::tensor_file
