// Converts tensors between column-major memory and row-major files, and checks what a file has.
#include "dynet_like/io/tensor_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/first_nan.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/io/row_major.h"
#include "dynet_like/io/safetensors_header.h"

namespace dynet_like::detail::tensor_file {

namespace {

using safetensors::shown;

constexpr std::size_t kNamesShown = 5;

// A table as its rows, one after the other; any other tensor is one row. It allocates nothing, so
// that reading cannot fail half way.
struct Rows {
  std::array<std::uint64_t, Dim::kMaxDimensions> sizes = {};
  std::size_t dimensions, count = 1;

  explicit Rows(const NamedTensor& tensor) : dimensions(tensor.values.d.nd) {
    const Dim& dim = tensor.values.d;
    std::copy_n(dim.d, dim.nd, sizes.begin());
    if (tensor.is_table) count = sizes[--dimensions];
  }
  std::span<const std::uint64_t> shape() const { return std::span(sizes).first(dimensions); }
};

std::vector<std::uint64_t> file_shape(const NamedTensor& tensor) {
  const Rows rows(tensor);
  std::vector<std::uint64_t> shape(rows.shape().begin(), rows.shape().end());
  if (tensor.is_table) shape.insert(shape.begin(), rows.count);
  return shape;
}

std::size_t byte_count(const NamedTensor& tensor) {
  return tensor.values.d.size() * size_of(tensor.values.dtype());
}

void copy(const NamedTensor& tensor, const std::byte* from, std::byte* to, ElementOrder to_order) {
  const Rows rows(tensor);
  const std::size_t bytes = byte_count(tensor) / rows.count;
  for (std::size_t i = 0; i < rows.count; ++i, from += bytes, to += bytes) {
    reorder(rows.shape(), size_of(tensor.values.dtype()), from, to, to_order);
  }
}

bool is_half(const TensorEntry& entry) { return entry.dtype == "F16" || entry.dtype == "BF16"; }

// Converts a 16-bit number: IEEE 754's half, or a brain float, which is the upper half of a float.
// A float can hold all of them.
float half_value(std::uint16_t bits, bool is_brain_float) {
  if (is_brain_float) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = std::ldexp(static_cast<float>(fraction + (exponent > 0 ? 1024 : 0)),
                           std::max(exponent, 1) - 25);
  if (exponent == 31) {
    using Limits = std::numeric_limits<float>;
    value = fraction == 0 ? Limits::infinity() : Limits::quiet_NaN();
  }
  return std::copysign(value, bits >> 15 == 0 ? 1.0f : -1.0f);
}

float half_at(const TensorEntry& entry, std::size_t i) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, entry.bytes.data() + i * sizeof(bits), sizeof(bits));
  return half_value(bits, entry.dtype == "BF16");
}

double number_at(const TensorEntry& entry, std::size_t i) {
  const auto read = [&]<class T>(T number) {
    std::memcpy(&number, entry.bytes.data() + i * sizeof(T), sizeof(T));
    return static_cast<double>(number);
  };
  return entry.dtype == "F64"   ? read(0.0)
         : entry.dtype == "F32" ? read(0.0f)
                                : static_cast<double>(half_at(entry, i));
}

// Fills a tensor from numbers of another type.
void convert(const TensorEntry& entry, const NamedTensor& tensor) {
  const Rows rows(tensor);
  const std::size_t size = tensor.values.d.size() / rows.count;
  Tensor values = tensor.values;
  for (std::size_t i = 0; i < rows.count; ++i) {
    for_each_place(rows.shape(), [&](std::uint64_t row_major, std::uint64_t column_major) {
      values.set(i * size + column_major, number_at(entry, i * size + row_major));
    });
  }
}

void read_one(const TensorEntry& entry, const NamedTensor& tensor) {
  if (entry.dtype != safetensors_name(tensor.values.dtype())) return convert(entry, tensor);
  copy(tensor, entry.bytes.data(), static_cast<std::byte*>(tensor.values.data()),
       ElementOrder::column_major);
}

std::string names_text(const std::vector<std::string_view>& names) {
  std::vector<std::string> first;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) {
    first.push_back(shown(names[i]));
  }
  const std::size_t more = names.size() - first.size();
  return fmt::format("{}{}", fmt::join(first, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::vector<NamedTensor> tensors_of(const Parameters& parameters) {
  std::vector<NamedTensor> tensors;
  for (const auto& parameter : parameters) {
    parameter->refresh_rows();
    tensors.push_back({parameter->name, parameter->tensor(), parameter->is_table});
  }
  return tensors;
}

Entries entries_of(std::span<const NamedTensor> tensors) {
  Entries result;
  for (const NamedTensor& tensor : tensors) {
    const auto* values = static_cast<const std::byte*>(tensor.values.data());
    std::span bytes(values, byte_count(tensor));
    if (Rows(tensor).dimensions >= 2) {
      std::vector<std::byte>& copied = result.copies.emplace_back(bytes.size());
      copy(tensor, values, copied.data(), ElementOrder::row_major);
      bytes = copied;
    }
    result.entries.push_back({tensor.name, std::string(safetensors_name(tensor.values.dtype())),
                              file_shape(tensor), bytes});
  }
  return result;
}

std::optional<Mismatch> mismatch_of(const TensorEntry& entry, const NamedTensor& tensor) {
  const auto dtype = safetensors_name(tensor.values.dtype());
  const std::vector<std::uint64_t> shape = file_shape(tensor);
  if ((entry.dtype == dtype || is_half(entry)) && entry.shape == shape) return {};
  return Mismatch{fmt::format("{} [{}]", dtype, fmt::join(shape, ", ")),
                  fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", "))};
}

void check(const TensorEntries& file, std::span<const NamedTensor> tensors, bool refuse_extra) {
  std::set<std::string_view> wanted;
  std::vector<std::string_view> missing, extra;
  for (const NamedTensor& tensor : tensors) {
    wanted.insert(tensor.name);
    if (file.find(tensor.name) == nullptr) missing.push_back(tensor.name);
  }
  for (const TensorEntry& entry : file.entries()) {
    const bool known = wanted.contains(entry.name) || entry.name.starts_with(kTrainer);
    if (!known) extra.push_back(entry.name);
  }
  if (!missing.empty()) {
    const std::string unknown = extra.empty()
                                    ? ""
                                    : fmt::format(", {} of them not asked for{}", extra.size(),
                                                  nearest_names_text(missing[0], extra));
    fail(file.name(), "tensors named " + names_text(missing),
         fmt::format("{}{}", counted(file.entries().size(), "other"), unknown));
  }
  if (refuse_extra && !extra.empty()) {
    fail(file.name(), "no tensors but the collection's", names_text(extra));
  }
  for (const NamedTensor& tensor : tensors) {
    const std::optional<Mismatch> mismatch = mismatch_of(*file.find(tensor.name), tensor);
    if (!mismatch) continue;
    fail(file.name(), fmt::format("{} for {}", mismatch->wanted, shown(tensor.name)),
         mismatch->found);
  }
}

void read(const TensorEntries& file, std::span<const NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) {
    read_one(*file.find(tensor.name), tensor);
  }
}

bool is_float(const TensorEntry& entry) {
  return is_half(entry) || entry.dtype == "F32" || entry.dtype == "F64";
}

void read_into(const TensorEntry& entry, const std::shared_ptr<ParameterStorage>& parameter) {
  read_one(entry, tensors_of({parameter}).front());
  parameter->values_written();
}

void read(const TensorEntries& file, std::span<const NamedTensor> tensors,
          const Parameters& parameters) {
  read(file, tensors);
  for (const auto& parameter : parameters) parameter->values_written();
}

std::optional<std::size_t> first_nan(const TensorEntry& entry) {
  return entry.dtype == "F64"    ? detail::first_nan(entry.bytes, DType::f64)
         : entry.dtype == "F32"  ? detail::first_nan(entry.bytes, DType::f32)
         : entry.dtype == "F16"  ? detail::first_nan<std::uint16_t>(entry.bytes, 0x7c00)
         : entry.dtype == "BF16" ? detail::first_nan<std::uint16_t>(entry.bytes, 0x7f80)
                                 : std::nullopt;
}

std::vector<float> floats_of(const TensorEntry& entry) {
  const bool half = is_half(entry);
  if (!half && entry.dtype != "F32") return {};
  std::vector<float> floats(entry.bytes.size() / (half ? 2 : sizeof(float)));
  if (!half) std::memcpy(floats.data(), entry.bytes.data(), entry.bytes.size());
  for (std::size_t i = 0; half && i < floats.size(); ++i) floats[i] = half_at(entry, i);
  return floats;
}

void check_keys(const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(kReserved)) continue;
    throw UsageError(fmt::format("[save] need keys of metadata that do not begin with {}; got {}",
                                 shown(kReserved), shown(key)));
  }
}

std::map<std::string, std::string> user_metadata(const SafetensorsFile& file) {
  std::map<std::string, std::string> result = file.metadata();
  std::erase_if(result, [](const auto& item) { return item.first.starts_with(kReserved); });
  return result;
}

void fail(const std::filesystem::path& path, const std::string& need, const std::string& got) {
  throw FileError(path.string(), fmt::format("[load] need {}; got {}", need, got));
}

}  // namespace dynet_like::detail::tensor_file
