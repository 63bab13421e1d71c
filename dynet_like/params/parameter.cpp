// Handles on parameters and tables: access to their values.
#include "dynet_like/params/parameter.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

ParameterStorage& checked(const std::shared_ptr<ParameterStorage>& storage, const char* handle) {
  if (storage == nullptr) {
    throw UsageError(std::string("[") + handle +
                     "] need a handle from ParameterCollection; got an empty one");
  }
  return *storage;
}

void fill(const Tensor& tensor, const std::vector<float>& values, const std::string& name) {
  if (values.size() != tensor.d.size()) {
    throw ShapeError("[" + name + "] need " + std::to_string(tensor.d.size()) + " values for " +
                     to_string(tensor.d) + "; got " + std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(i, static_cast<double>(values[i]));
}

void scale_all(const Tensor& tensor, double factor) {
  for (std::size_t i = 0; i < tensor.d.size(); ++i) tensor.set(i, tensor.at(i) * factor);
}

Tensor changing(ParameterStorage& storage) {
  storage.refresh_rows();
  ++storage.version;
  return storage.tensor();
}

std::byte* row_of(const ParameterStorage& storage, unsigned row) {
  if (row >= storage.rows()) {
    throw UsageError("[" + storage.name + "] need a row below " + std::to_string(storage.rows()) +
                     "; got " + std::to_string(row));
  }
  if (storage.refresher != nullptr) storage.refresher->refresh(std::span(&row, 1));
  return storage.values.data() + row * storage.entry_size() * size_of(storage.dtype);
}

}  // namespace

void ParameterStorage::hand_out() {
  if (!handed_out && !is_table) first_digest = digest();
  handed_out = true;
  ++chances;
  ++version;
}

std::size_t ParameterStorage::digest() const {
  const auto* begin = reinterpret_cast<const char*>(values.data());
  return std::hash<std::string_view>{}({begin, size() * size_of(dtype)});
}

Dim ParameterStorage::entry_dim() const {
  Dim entry = dim;
  if (is_table) entry.resize(dim.nd - 1);
  return entry;
}

ParameterStorage& Parameter::get_storage() const { return checked(p, "Parameter"); }

Tensor Parameter::values() const {
  get_storage().hand_out();
  return p->tensor();
}

void Parameter::set_value(const std::vector<float>& values) const {
  fill(changing(get_storage()), values, get_fullname());
}

void Parameter::zero() const { scale_all(changing(get_storage()), 0.0); }

void Parameter::scale(float factor) const {
  scale_all(changing(get_storage()), static_cast<double>(factor));
}

void Parameter::clip_inplace(float low, float high) const {
  const Tensor tensor = changing(get_storage());
  for (std::size_t i = 0; i < tensor.d.size(); ++i) {
    tensor.set(i, std::clamp<double>(tensor.at(i), low, high));
  }
}

ParameterStorage& LookupParameter::get_storage() const { return checked(p, "LookupParameter"); }

Tensor LookupParameter::values(unsigned row) const {
  ParameterStorage& storage = get_storage();
  const Tensor entry(storage.entry_dim(), storage.dtype, row_of(storage, row));
  ++storage.chances;
  ++storage.version;
  return entry;
}

Tensor LookupParameter::all_values() const {
  ++get_storage().chances;
  return changing(*p);
}

void LookupParameter::initialize(unsigned row, const std::vector<float>& values) const {
  ParameterStorage& storage = get_storage();
  fill({storage.entry_dim(), storage.dtype, row_of(storage, row)}, values, storage.name);
  ++storage.version;
}

void LookupParameter::zero() const { scale_all(changing(get_storage()), 0.0); }

void LookupParameter::scale(float factor) const {
  scale_all(changing(get_storage()), static_cast<double>(factor));
}

}  // namespace dynet_like
