// Tensors in files: from column-major to row-major and back, and what a file must have.
#include "dynet_like/io/tensor_file.h"

#include <cstring>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/safetensors_header.h"

namespace dynet_like::tensor_file {

namespace {

using safetensors::shown;

constexpr std::size_t kNamesShown = 5;

// A table as its entries, one behind the other; any other tensor is one entry.
struct Entries {
  Dim dim;
  std::size_t count = 1;

  explicit Entries(const NamedTensor& tensor) : dim(tensor.values.d) {
    if (!tensor.is_table) return;
    count = dim.d[dim.nd - 1];
    dim.resize(dim.nd - 1);
  }
};

std::vector<std::uint64_t> file_shape(const NamedTensor& tensor) {
  const Entries entries(tensor);
  std::vector<std::uint64_t> shape(entries.dim.d, entries.dim.d + entries.dim.nd);
  if (tensor.is_table) shape.insert(shape.begin(), entries.count);
  return shape;
}

// Calls visit(place in the file, place in memory) for each element of one entry.
template <class Visit>
void for_each_element(const Dim& dim, const Visit& visit) {
  const unsigned last = dim.nd - 1;
  const std::size_t length = dim.d[last], runs = dim.size() / length;
  for (std::size_t run = 0; run < runs; ++run) {
    // A run is the elements along the last dimension; the others' indices follow from its number.
    std::size_t place = 0, rest = run, stride = runs;
    for (unsigned i = last; i-- > 0;) {
      stride /= dim.d[i];
      place += rest % dim.d[i] * stride;
      rest /= dim.d[i];
    }
    for (std::size_t i = 0; i < length; ++i) visit(run * length + i, place + i * runs);
  }
}

template <std::size_t kSize>
void copy(const Entries& entries, const std::byte* from, std::byte* to, bool to_file) {
  const std::size_t bytes = entries.dim.size() * kSize;
  for (std::size_t i = 0; i < entries.count; ++i, from += bytes, to += bytes) {
    for_each_element(entries.dim, [&](std::size_t in_file, std::size_t in_memory) {
      const std::size_t source = to_file ? in_memory : in_file;
      const std::size_t target = to_file ? in_file : in_memory;
      std::memcpy(to + target * kSize, from + source * kSize, kSize);
    });
  }
}

void copy(const NamedTensor& tensor, const std::byte* from, std::byte* to, bool to_file) {
  const Entries entries(tensor);
  if (entries.dim.nd < 2) {
    std::memcpy(to, from, tensor.values.d.size() * size_of(tensor.values.dtype()));
  } else if (tensor.values.dtype() == DType::f32) {
    copy<4>(entries, from, to, to_file);
  } else {
    copy<8>(entries, from, to, to_file);
  }
}

void check_shape(const std::string& path, const TensorEntry& entry, const NamedTensor& tensor) {
  const auto dtype = safetensors_name(tensor.values.dtype());
  const std::vector<std::uint64_t> shape = file_shape(tensor);
  if (entry.dtype == dtype && entry.shape == shape) return;
  fail(path, fmt::format("{} [{}] for {}", dtype, fmt::join(shape, ", "), shown(tensor.name)),
       fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", ")));
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

void write(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
           const std::map<std::string, std::string>& metadata) {
  std::vector<std::vector<std::byte>> copies;
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : tensors) {
    const auto* values = static_cast<const std::byte*>(tensor.values.data());
    std::span bytes(values, tensor.values.d.size() * size_of(tensor.values.dtype()));
    if (Entries(tensor).dim.nd >= 2) {
      copies.emplace_back(bytes.size());
      copy(tensor, values, copies.back().data(), true);
      bytes = copies.back();
    }
    entries.push_back({tensor.name, std::string(safetensors_name(tensor.values.dtype())),
                       file_shape(tensor), bytes});
  }
  write_safetensors(path, entries, metadata);
}

void check(const SafetensorsFile& file, std::span<const NamedTensor> tensors, bool refuse_extra) {
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
    const std::string unknown =
        extra.empty() ? "" : fmt::format(", with no parameter for {}", names_text(extra));
    fail(file.name(), "tensors named " + names_text(missing),
         fmt::format("{} others{}", file.entries().size(), unknown));
  }
  if (refuse_extra && !extra.empty()) {
    fail(file.name(), "no tensors but the collection's", names_text(extra));
  }
  for (const NamedTensor& tensor : tensors)
    check_shape(file.name(), *file.find(tensor.name), tensor);
}

void read(const SafetensorsFile& file, std::span<const NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) {
    const std::byte* from = file.find(tensor.name)->bytes.data();
    copy(tensor, from, static_cast<std::byte*>(tensor.values.data()), false);
  }
}

void read(const SafetensorsFile& file, std::span<const NamedTensor> tensors,
          const Parameters& parameters) {
  read(file, tensors);
  for (const auto& parameter : parameters) parameter->values_written();
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

}  // namespace dynet_like::tensor_file
