// Parameters with their gradients, and collections of parameters.
#include "dynet/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>

#include "dynet/globals.h"
#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/params/gradients.h"

namespace dynet {

using dynet_like::Gradients;
using dynet_like::ShapeError;
using dynet_like::UsageError;

namespace {

void check_size(const std::string& name, std::size_t need, std::size_t got) {
  if (need == got) return;
  throw ShapeError("[" + name + "] need " + dynet_like::detail::counted(need, "element") +
                   "; got " + std::to_string(got));
}

// Adds numbers in host memory to several places on the parameter's device, one stretch after the
// other.
void add(const dynet_like::ParameterStorage& core, const float* x, std::size_t n,
         std::span<void* const> sums) {
  dynet_like::Device& device = core.device();
  dynet_like::detail::Block there;
  const std::size_t bytes = n * sizeof(float);
  const auto* from = reinterpret_cast<const std::byte*>(x);
  if (!device.is_cpu()) {
    there = dynet_like::detail::Block(sums.size() * bytes, device.memory());
    device.write(there.data(), from, there.size());
    from = there.data();
  }
  for (void* const sum : sums) {
    const dynet_like::detail::Pair pair = {sum, from, n};
    device.updates().add(core.dtype, std::span(&pair, 1));
    from += bytes;
  }
}

void scale_stretches(const dynet_like::ParameterStorage& core, float factor) {
  const double factors[] = {static_cast<double>(factor)};
  for (const dynet_like::detail::Stretch& stretch : detail::gradients().stretches(core)) {
    dynet_like::detail::Elements all;
    all.dtype = core.dtype;
    all.count = stretch.count;
    all.values = const_cast<void*>(stretch.begin);
    core.device().updates().scale(all, factors);
  }
}

float squared_norm_of_gradient(const dynet_like::ParameterStorage& core) {
  return static_cast<float>(
      core.device().updates().sum_of_squares(core.dtype, detail::gradients().stretches(core)));
}

// The values of a table or a parameter, with all rows up to date.
dynet_like::Tensor current(const dynet_like::ParameterStorage& core) {
  core.refresh_rows();
  return core.tensor();
}

void copy_values(const dynet_like::ParameterStorage& from, dynet_like::ParameterStorage& to) {
  const dynet_like::Tensor values = current(from);
  std::copy_n(values.v, from.size(), current(to).v);
  to.values_written();
}

}  // namespace

void ParameterStorageBase::scale_parameters(float a) { dynet_like::Parameter(core).scale(a); }
void ParameterStorageBase::zero() { scale_parameters(0); }
void ParameterStorageBase::squared_l2norm(float* squared_norm) const {
  const dynet_like::detail::Stretch all = {current(*core).v, size()};
  *squared_norm = static_cast<float>(
      dynet_like::detail::cpu_updates().sum_of_squares(core->dtype, std::span(&all, 1)));
}
void ParameterStorageBase::g_squared_l2norm(float* squared_norm) const {
  detail::take_written_gradients();
  *squared_norm = squared_norm_of_gradient(*core);
}
void ParameterStorageBase::scale_gradient(float a) {
  take_written_gradient();
  scale_stretches(*core, a);
  if (handed_out_) refresh();
}
void ParameterStorageBase::clear() {
  detail::gradients().clear(*core);
  if (handed_out_) refresh();
}

namespace {

std::vector<ParameterStorageBase*>& handed_out() {
  static auto* const all = new std::vector<ParameterStorageBase*>;  // outlives static collections
  return *all;
}

}  // namespace

void detail::refresh_handed_out() {
  for (ParameterStorageBase* storage : handed_out()) storage->refresh();
}

void detail::take_written_gradients() {
  for (ParameterStorageBase* storage : handed_out()) storage->take_written_gradient();
}

ParameterStorageBase::~ParameterStorageBase() {
  if (handed_out_) std::erase(handed_out(), this);
}

void ParameterStorageBase::hand_out() {
  core->refresh_rows();
  core->values.hand_out();
  take_written_gradient();
  forget_what_was_written();
  refresh();
  if (!handed_out_) handed_out().push_back(this);
  handed_out_ = true;
}

ParameterStorage::ParameterStorage(std::shared_ptr<dynet_like::ParameterStorage> storage)
    : ParameterStorageBase(std::move(storage)), dim(core->dim), values(core->tensor()) {}

bool ParameterStorage::has_grad() const { return detail::gradients().find_dense(*core) != nullptr; }
void ParameterStorage::copy(const ParameterStorage& from) {
  check_size(name, size(), from.size());
  copy_values(*from.core, *core);
}
void ParameterStorage::accumulate_grad(const Tensor& gradient) {
  check_size(name, size(), gradient.d.size());
  take_written_gradient();
  void* const sum = detail::gradients().dense(*core);
  add(*core, gradient.v, size(), std::span(&sum, 1));
}
void ParameterStorage::clip(float left, float right) {
  dynet_like::Parameter(core).clip_inplace(left, right);
}
void ParameterStorage::set_value(const std::vector<float>& new_values) {
  dynet_like::Parameter(core).set_value(new_values);
}
void ParameterStorage::refresh() {
  if (zeros_.v == nullptr) zeros_ = Tensor(dim);  // now, since it must not fail later
  if (last_copy_.v == nullptr && !core->device().is_cpu()) {
    copy_ = Tensor(dim);
    last_copy_ = Tensor(dim);
  }
  nonzero_grad = has_grad();
  g = zeros_;
  if (nonzero_grad) {
    g = core->device().is_cpu()
            ? dynet_like::Tensor(dim, static_cast<float*>(detail::gradients().dense(*core)))
            : copy_of_gradient();
  }
}

Tensor ParameterStorage::copy_of_gradient() {
  core->device().read(copy_.v, detail::gradients().find_dense(*core), size() * sizeof(float));
  std::copy_n(copy_.v, size(), last_copy_.v);
  return copy_;
}

void ParameterStorage::take_written_gradient() {
  const bool is_copy = copy_.v != nullptr && g.v == copy_.v && has_grad();
  const std::size_t bytes = size() * sizeof(float);
  if (!is_copy || std::memcmp(copy_.v, last_copy_.v, bytes) == 0) return;
  core->device().write(detail::gradients().dense(*core), copy_.v, bytes);
  std::copy_n(copy_.v, size(), last_copy_.v);
}

void ParameterStorage::forget_what_was_written() {
  if (zeros_.v != nullptr) TensorTools::zero(zeros_);
}

Tensor RowGradients::operator[](unsigned row) const {
  const Gradients::Rows* rows = detail::gradients().find_rows(table_);
  const std::byte* found = rows == nullptr ? nullptr : rows->find(table_, row);
  if (found == nullptr) return Tensor(table_.entry_dim);
  // The row's gradient exists already, so nothing moves.
  std::byte* entry = detail::gradients().rows(table_).entry(table_, row);
  if (table_.device().is_cpu()) {
    return dynet_like::Tensor(table_.entry_dim, reinterpret_cast<float*>(entry));
  }
  const Tensor copy(table_.entry_dim);
  table_.device().read(copy.v, entry, table_.entry_size() * sizeof(float));
  return copy;
}

TableGradient::operator Tensor() const {
  Tensor all(rows_.all_dim());
  const std::size_t entry = all.d.size() / rows_.size();
  for (unsigned row = 0; row < rows_.size(); ++row) {
    std::copy_n(rows_[row].v, entry, all.v + row * entry);
  }
  return all;
}

LookupParameterStorage::LookupParameterStorage(
    std::shared_ptr<dynet_like::ParameterStorage> storage)
    : ParameterStorageBase(std::move(storage)),
      all_dim(core->dim),
      dim(core->entry_dim),
      all_values(core->tensor()),
      grads(*core),
      all_grads(grads) {}

bool LookupParameterStorage::has_grad() const {
  return detail::gradients().find_rows(*core) != nullptr;
}
void LookupParameterStorage::initialize(unsigned row, const std::vector<float>& new_values) {
  dynet_like::LookupParameter(core).initialize(row, new_values);
}
void LookupParameterStorage::copy(const LookupParameterStorage& from) {
  check_size(name, size(), from.size());
  copy_values(*from.core, *core);
}
void LookupParameterStorage::accumulate_grad(const Tensor& gradient) {
  check_size(name, size(), gradient.d.size());
  std::vector<unsigned> all(core->rows());
  std::iota(all.begin(), all.end(), 0);
  accumulate_grads(static_cast<unsigned>(all.size()), all.data(), nullptr, gradient.v);
}
void LookupParameterStorage::accumulate_grad(unsigned row, const Tensor& gradient) {
  check_size(name, core->entry_size(), gradient.d.size());
  accumulate_grads(1, &row, nullptr, gradient.v);
}
void LookupParameterStorage::accumulate_grads(unsigned n, const unsigned* rows, const unsigned*,
                                              float* gradients) {
  for (unsigned i = 0; i < n; ++i) {
    if (rows[i] >= core->rows()) {
      throw UsageError("[" + name + "] need a row below " + std::to_string(core->rows()) +
                       "; got " + std::to_string(rows[i]));
    }
  }
  Gradients::Rows& all = detail::gradients().rows(*core);
  all.touch(*core, std::span(rows, n));
  std::vector<void*> sums;
  for (unsigned i = 0; i < n; ++i) sums.push_back(all.entry(*core, rows[i]));
  add(*core, gradients, core->entry_size(), sums);
}
void LookupParameterStorage::refresh() {
  if (values.empty()) {
    const std::size_t entry = core->entry_size();
    for (std::size_t row = 0; row < core->rows(); ++row) {
      values.push_back(dynet_like::Tensor(dim, all_values.v + row * entry));
    }
  }
  const Gradients::Rows* rows = detail::gradients().find_rows(*core);
  nonzero_grad = rows != nullptr;
  non_zero_grads.clear();
  if (nonzero_grad) non_zero_grads.insert(rows->rows.begin(), rows->rows.end());
}

namespace {

template <class Storage>
const std::shared_ptr<Storage>& checked(const std::shared_ptr<Storage>& storage,
                                        const char* handle) {
  if (storage == nullptr) {
    throw UsageError(std::string("[") + handle +
                     "] need a handle from ParameterCollection; got an empty one");
  }
  return storage;
}

}  // namespace

Parameter::Parameter(std::shared_ptr<ParameterStorage> storage)
    : dynet_like::Parameter(checked(storage, "Parameter")->core),
      p(dynet_like::Parameter::p, std::move(storage)) {}
ParameterStorage& Parameter::get_storage() const {
  dynet_like::Parameter::get_storage();  // throws if there is none
  return *p;
}

LookupParameter::LookupParameter(std::shared_ptr<LookupParameterStorage> storage)
    : dynet_like::LookupParameter(checked(storage, "LookupParameter")->core),
      p(dynet_like::LookupParameter::p, std::move(storage)) {}
LookupParameterStorage& LookupParameter::get_storage() const {
  dynet_like::LookupParameter::get_storage();
  return *p;
}

void ParameterCollectionStorage::project_weights(float radius) {
  for (const auto& parameter : all_params) {
    float squared_norm = 0;
    parameter->squared_l2norm(&squared_norm);
    if (squared_norm > radius * radius) {
      parameter->scale_parameters(radius / std::sqrt(squared_norm));
    }
  }
}
float ParameterCollectionStorage::gradient_l2_norm() const {
  double sum = 0;
  for (const auto& parameter : all_params) {
    float squared_norm = 0;
    parameter->g_squared_l2norm(&squared_norm);
    sum += static_cast<double>(squared_norm);
  }
  return static_cast<float>(std::sqrt(sum));
}

struct detail::StorageRegistry {
  std::map<const dynet_like::ParameterStorage*, std::shared_ptr<ParameterStorageBase>> known;

  const std::shared_ptr<ParameterStorageBase>& of(
      const std::shared_ptr<dynet_like::ParameterStorage>& core) {
    std::shared_ptr<ParameterStorageBase>& storage = known[core.get()];
    if (storage == nullptr && core->is_table) {
      storage = std::make_shared<LookupParameterStorage>(core);
    } else if (storage == nullptr) {
      storage = std::make_shared<ParameterStorage>(core);
    }
    return storage;
  }
};

ParameterCollection::ParameterCollection(float weight_decay_lambda)
    : ParameterCollection(dynet_like::ParameterCollection(detail::random()(),
                                                          dynet_like::DType::f32, detail::device()),
                          std::make_shared<detail::StorageRegistry>(), weight_decay_lambda) {}

ParameterCollection::ParameterCollection(const dynet_like::ParameterCollection& core,
                                         std::shared_ptr<detail::StorageRegistry> registry,
                                         float lambda)
    : dynet_like::ParameterCollection(core),
      registry_(std::move(registry)),
      storage_(std::make_shared<ParameterCollectionStorage>(lambda)) {}

ParameterCollection ParameterCollection::add_subcollection(const std::string& name,
                                                           float weight_decay_lambda) {
  return ParameterCollection(
      dynet_like::ParameterCollection::add_subcollection(name), registry_,
      weight_decay_lambda < 0 ? get_weight_decay_lambda() : weight_decay_lambda);
}

namespace {

// The parameter must be new, so that nobody has its address.
void move_to_shared_memory(const std::shared_ptr<dynet_like::ParameterStorage>& parameter) {
  auto& known = detail::shared_parameters();
  std::erase_if(known, [](const auto& other) { return other.expired(); });
  dynet_like::detail::make_room(known);
  parameter->values.move_to_shared_memory();
  known.push_back(parameter);
}

}  // namespace

std::vector<std::weak_ptr<dynet_like::ParameterStorage>>& detail::shared_parameters() {
  static std::vector<std::weak_ptr<dynet_like::ParameterStorage>> known;
  return known;
}

template <class Storage>
std::shared_ptr<Storage> ParameterCollection::add(
    const std::shared_ptr<dynet_like::ParameterStorage>& core) {
  if (detail::shares_parameters) move_to_shared_memory(core);
  auto storage = std::static_pointer_cast<Storage>(registry_->of(core));
  storage->owner = this;
  return storage;
}

Parameter ParameterCollection::add_parameters(const Dim& d, float scale, const std::string& name,
                                              Device* device) {
  if (scale == 0) return add_parameters(d, ParameterInitGlorot(), name, device);
  return add_parameters(d, ParameterInitUniform(scale), name, device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, Device* device) {
  return add_parameters(d, 0.0f, "", device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, const std::string& name,
                                              Device* device) {
  return add_parameters(d, 0.0f, name, device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, const dynet_like::ParameterInit& init,
                                              const std::string& name, Device*) {
  return add<ParameterStorage>(dynet_like::ParameterCollection::add_parameters(d, init, name).p);
}
LookupParameter ParameterCollection::add_lookup_parameters(unsigned n, const Dim& d,
                                                           const std::string& name,
                                                           Device* device) {
  return add_lookup_parameters(n, d, ParameterInitGlorot(true), name, device);
}
LookupParameter ParameterCollection::add_lookup_parameters(unsigned n, const Dim& d,
                                                           const dynet_like::ParameterInit& init,
                                                           const std::string& name, Device*) {
  return add<LookupParameterStorage>(
      dynet_like::ParameterCollection::add_lookup_parameters(n, d, init, name).p);
}

void ParameterCollection::reset_gradient() {
  detail::gradients().clear(*this);
  detail::refresh_handed_out();
}

// Parameters are only added, at the end; some may have been added through the library's own type.
ParameterCollectionStorage& ParameterCollection::get_storage() const {
  const auto cores = storages();
  for (std::size_t i = storage_->all_params.size(); i < cores.size(); ++i) {
    const auto& added = registry_->of(cores[i]);
    dynet_like::detail::make_room(storage_->all_params);  // for both lists
    if (cores[i]->is_table) {
      storage_->lookup_params.push_back(std::static_pointer_cast<LookupParameterStorage>(added));
    } else {
      storage_->params.push_back(std::static_pointer_cast<ParameterStorage>(added));
    }
    storage_->all_params.push_back(added);
  }
  return *storage_;
}

namespace {

// A program that walks over the storages may read and write all of them.
template <class Storage>
const std::vector<std::shared_ptr<Storage>>& handed_out(
    const std::vector<std::shared_ptr<Storage>>& all) {
  for (const auto& storage : all) storage->hand_out();
  return all;
}

}  // namespace

std::vector<std::shared_ptr<ParameterStorageBase>>
ParameterCollection::get_parameter_storages_base() const {
  return handed_out(get_storage().all_params);
}
std::vector<std::shared_ptr<ParameterStorage>> ParameterCollection::get_parameter_storages() const {
  return parameters_list();
}
std::vector<std::shared_ptr<LookupParameterStorage>>
ParameterCollection::get_lookup_parameter_storages() const {
  return lookup_parameters_list();
}
const std::vector<std::shared_ptr<ParameterStorage>>& ParameterCollection::parameters_list() const {
  return handed_out(get_storage().params);
}
const std::vector<std::shared_ptr<LookupParameterStorage>>&
ParameterCollection::lookup_parameters_list() const {
  return handed_out(get_storage().lookup_params);
}

namespace {

template <class Storage>
std::shared_ptr<Storage> find_by_name(const std::vector<std::shared_ptr<Storage>>& all,
                                      const std::string& name) {
  for (const auto& storage : all) {
    if (storage->name != name) continue;
    storage->hand_out();
    return storage;
  }
  std::vector<std::string_view> names;
  for (const auto& storage : all) names.push_back(storage->name);
  throw UsageError("[ParameterCollection] need the full name of a parameter; got \"" + name + '"' +
                   dynet_like::detail::nearest_names_text(name, names));
}

}  // namespace

std::shared_ptr<ParameterStorage> ParameterCollection::get_parameter_storage(
    const std::string& name) {
  return find_by_name(get_storage().params, name);
}
std::shared_ptr<LookupParameterStorage> ParameterCollection::get_lookup_parameter_storage(
    const std::string& name) {
  return find_by_name(get_storage().lookup_params, name);
}

std::size_t ParameterCollection::updated_parameter_count() const {
  std::size_t count = 0;
  for (const auto& core : storages()) count += core->updated ? core->size() : 0;
  return count;
}

}  // namespace dynet
