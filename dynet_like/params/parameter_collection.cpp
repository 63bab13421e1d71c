// ParameterCollection: names, layout and initial values.
#include "dynet_like/params/parameter_collection.h"

#include <cstring>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"

namespace dynet_like {

using namespace detail;

ParameterCollection::ParameterCollection(std::uint64_t seed, DType dtype,
                                         std::shared_ptr<Device> device)
    : storage_(std::make_shared<CollectionStorage>()), path_(std::make_shared<Path>()) {
  storage_->seed = seed;
  storage_->dtype = storage_->layout->dtype = dtype;
  storage_->layout->device = std::move(device);
}

Parameter ParameterCollection::add_parameters(const Dim& dim, const std::string& name) {
  return add_parameters(dim, ParameterInitGlorot(), name);
}

Parameter ParameterCollection::add_parameters(const Dim& dim, const ParameterInit& init,
                                              const std::string& name) {
  return Parameter(add(dim, false, init, name));
}

LookupParameter ParameterCollection::add_lookup_parameters(unsigned rows, const Dim& dim,
                                                           const std::string& name) {
  return add_lookup_parameters(rows, dim, ParameterInitGlorot(true), name);
}

LookupParameter ParameterCollection::add_lookup_parameters(unsigned rows, const Dim& dim,
                                                           const ParameterInit& init,
                                                           const std::string& name) {
  Dim table = dim;
  table.add_dim(rows);
  return LookupParameter(add(table, true, init, name));
}

ParameterCollection ParameterCollection::add_subcollection(const std::string& name) {
  ParameterCollection result = *this;
  result.path_ = std::make_shared<Path>();
  unsigned& uses = uses_of(name);
  // A second "a" becomes "a_1", unless that name was given. Names of parameters contain no slash.
  unsigned number = uses;
  while (path_->uses.contains(full_name(name, number) + "/")) ++number;
  result.path_->name = full_name(name, number) + "/";
  path_->uses[result.path_->name] = 1;
  uses = number + 1;
  return result;
}

unsigned& ParameterCollection::uses_of(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    throw UsageError("[ParameterCollection] need a name without '/'; got \"" + name + "\"");
  }
  return path_->uses[name];
}

std::string ParameterCollection::full_name(const std::string& name, unsigned uses) const {
  return path_->name + name + (uses > 0 || name.empty() ? "_" + std::to_string(uses) : "");
}

std::shared_ptr<ParameterStorage> ParameterCollection::add(const Dim& dim, bool is_table,
                                                           const ParameterInit& init,
                                                           const std::string& name) {
  if (dim.bd != 1 || dim.nd == 0 || dim.size() == 0) {
    throw ShapeError("[ParameterCollection] need at least one element and no minibatch; got " +
                     to_string(dim));
  }
  unsigned& uses = uses_of(name);
  const std::string full = full_name(name, uses);
  if (storage_->by_name.contains(full)) {
    throw UsageError("[ParameterCollection] need a new name; \"" + full + "\" is taken");
  }
  auto parameter = make(full, dim, is_table);
  // Every parameter uses its own section of the seed's sequence.
  Random random(storage_->seed, static_cast<std::uint64_t>(parameter->index + 1) << 40);
  if (storage_->draws) init.initialize(parameter->tensor_to_fill(), random);
  parameter->values_written();
  take(parameter);
  ++uses;
  return parameter;
}

std::shared_ptr<ParameterStorage> ParameterCollection::make(const std::string& full_name,
                                                            const Dim& dim, bool is_table) const {
  auto parameter = std::make_shared<ParameterStorage>();
  parameter->name = full_name;
  parameter->dim = parameter->entry_dim = dim;
  if (is_table) parameter->entry_dim.resize(dim.nd - 1);
  parameter->dtype = storage_->dtype;
  parameter->is_table = is_table;
  parameter->layout = storage_->layout;
  parameter->values.allocate(*device(), dim.size() * size_of(storage_->dtype), !is_table);
  parameter->index = storage_->all.size();
  return parameter;
}

void ParameterCollection::take(const std::shared_ptr<ParameterStorage>& parameter) {
  CollectionLayout& layout = *storage_->layout;
  CollectionLayout::Entry entry = {layout.dense_size, parameter->size(), parameter->rows(),
                                   parameter->entry_size(), parameter->name};
  make_room(layout.entries);
  make_room(storage_->all);
  storage_->by_name.emplace(parameter->name, parameter->index);
  // Nothing fails from here on.
  layout.entries.push_back(std::move(entry));
  if (!parameter->is_table) layout.dense_size += (parameter->size() + 15) / 16 * 16;
  storage_->all.push_back(parameter);
}

ParameterCollection ParameterCollection::copy() const {
  ParameterCollection result(storage_->seed, dtype(), device());
  for (const auto& from : storages()) {
    from->refresh_rows();
    const auto to = result.make(from->name, from->dim, from->is_table);
    to->updated = from->updated;
    to->frozen = from->frozen;
    std::memcpy(to->tensor_to_fill().data(), from->tensor().data(),
                from->size() * size_of(from->dtype));
    to->values_written();
    result.take(to);
  }
  return result;
}

std::vector<std::shared_ptr<ParameterStorage>> ParameterCollection::storages() const {
  std::vector<std::shared_ptr<ParameterStorage>> result;
  for (const auto& parameter : storage_->all) {
    if (contains(*parameter)) result.push_back(parameter);
  }
  return result;
}

std::shared_ptr<ParameterStorage> ParameterCollection::find(const std::string& full_name) const {
  const auto found = storage_->by_name.find(full_name);
  if (found != storage_->by_name.end()) return storage_->all[found->second];
  throw UsageError("[ParameterCollection] need the full name of a parameter; got " +
                   quoted_text(full_name) + nearest_keys_text(full_name, storage_->by_name));
}

std::size_t ParameterCollection::parameter_count() const {
  std::size_t count = 0;
  for (const auto& parameter : storages()) count += parameter->size();
  return count;
}

}  // namespace dynet_like
