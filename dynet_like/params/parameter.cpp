// Handles of parameters and tables: access to their values.
#include "dynet_like/params/parameter.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like {

using namespace detail;

namespace {

ParameterStorage& checked(const std::shared_ptr<ParameterStorage>& storage, const char* handle) {
  if (storage == nullptr) {
    throw UsageError(
        std::string("[") + handle +
        "] need a handle from ParameterCollection; got an empty one: assign the parameter "
        "before it is used, or copied into a function or another object");
  }
  return *storage;
}

void check_size(const Dim& dim, const std::vector<float>& values, const std::string& name) {
  if (values.size() == dim.size()) return;
  throw ShapeError("[" + name + "] need " + detail::counted(dim.size(), "value") + " for " +
                   to_string(dim) + "; got " + std::to_string(values.size()));
}

void fill(const Tensor& tensor, const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(i, static_cast<double>(values[i]));
}

void scale_all(const Tensor& tensor, double factor) {
  for (std::size_t i = 0; i < tensor.d.size(); ++i) tensor.set(i, tensor.at(i) * factor);
}

// Calls change(tensor) with up-to-date values, and then reports the change.
template <class Change>
void change_values(ParameterStorage& storage, const Change& change) {
  storage.refresh_rows();
  change(storage.tensor());
  storage.values_written();
}

// Not a multiplication by zero, because zero times infinity is NaN.
void zero_all(ParameterStorage& storage) {
  storage.refresh_rows();
  std::memset(storage.tensor_to_fill().data(), 0, storage.size() * size_of(storage.dtype));
  storage.values_written();
}

Tensor row_of(const ParameterStorage& storage, unsigned row) {
  if (row >= storage.rows()) {
    throw UsageError("[" + storage.name + "] need a row below " + std::to_string(storage.rows()) +
                     "; got " + detail::index_text(row));
  }
  if (storage.refresher != nullptr) storage.refresher->refresh(std::span(&row, 1));
  auto* const values = static_cast<std::byte*>(storage.tensor().data());
  return {storage.entry_dim, storage.dtype,
          values + row * storage.entry_size() * size_of(storage.dtype)};
}

}  // namespace

void ParameterStorage::throw_no_collection() {
  throw StateError("[ParameterStorage] need a parameter of a collection; got another one");
}

ParameterStorage& Parameter::get_storage() const { return checked(p, "Parameter"); }

Tensor Parameter::values() const {
  get_storage().values.hand_out();
  return p->tensor();
}

void Parameter::set_value(const std::vector<float>& values) const {
  ParameterStorage& storage = get_storage();
  check_size(storage.dim, values, storage.name);
  storage.refresh_rows();
  fill(storage.tensor_to_fill(), values);
  storage.values_written();
}

void Parameter::zero() const { zero_all(get_storage()); }

void Parameter::scale(float factor) const {
  change_values(get_storage(),
                [&](const Tensor& all) { scale_all(all, static_cast<double>(factor)); });
}

void Parameter::clip_inplace(float low, float high) const {
  change_values(get_storage(), [&](const Tensor& all) {
    for (std::size_t i = 0; i < all.d.size(); ++i) {
      all.set(i, std::clamp<double>(all.at(i), low, high));
    }
  });
}

ParameterStorage& LookupParameter::get_storage() const { return checked(p, "LookupParameter"); }

Tensor LookupParameter::values(unsigned row) const {
  ParameterStorage& storage = get_storage();
  const Tensor entry = row_of(storage, row);
  if (!storage.device().is_cpu()) storage.values.hand_out();
  storage.values.expose();
  return entry;
}

Tensor LookupParameter::all_values() const {
  ParameterStorage& storage = get_storage();
  storage.refresh_rows();
  if (!storage.device().is_cpu()) storage.values.hand_out();
  storage.values.expose();
  return storage.tensor();
}

void LookupParameter::initialize(unsigned row, const std::vector<float>& values) const {
  ParameterStorage& storage = get_storage();
  const Tensor entry = row_of(storage, row);
  check_size(entry.d, values, storage.name);
  fill(entry, values);
  storage.values_written(row * storage.entry_size(), storage.entry_size());
}

void LookupParameter::zero() const { zero_all(get_storage()); }

void LookupParameter::scale(float factor) const {
  change_values(get_storage(),
                [&](const Tensor& all) { scale_all(all, static_cast<double>(factor)); });
}

}  // namespace dynet_like
