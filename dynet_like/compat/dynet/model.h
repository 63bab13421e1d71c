// DyNet's model.h: parameters with their gradients, and collections of parameters.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "dynet/param-init.h"
#include "dynet/weight-decay.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet {

class ParameterCollection;

namespace detail {
/// Refreshes the members of all storages that were handed out.
void refresh_handed_out();
/// Copies gradients that the program has written to these members to their device. Call it before
/// the gradients are used.
void take_written_gradients();
}  // namespace detail

/// Common parts of parameters and tables. Gradients are those since the last update.
struct ParameterStorageBase {
  virtual ~ParameterStorageBase();
  ParameterStorageBase(const ParameterStorageBase&) = delete;
  ParameterStorageBase& operator=(const ParameterStorageBase&) = delete;

  void scale_parameters(float a);
  void scale_gradient(float a);
  void zero();
  void squared_l2norm(float* squared_norm) const;
  void g_squared_l2norm(float* squared_norm) const;
  bool is_updated() const { return updated; }
  virtual bool has_grad() const = 0;
  std::size_t size() const { return core->size(); }
  /// Resets the gradient.
  void clear();
  /// Refreshes the members for values and gradients, and lets the program write values. From then
  /// on the members follow every backward pass and update.
  void hand_out();

  const std::shared_ptr<dynet_like::ParameterStorage> core;
  const std::string& name;
  bool& updated;
  ParameterCollection* owner = nullptr;  ///< the collection that it was added to, while that exists

 protected:
  explicit ParameterStorageBase(std::shared_ptr<dynet_like::ParameterStorage> storage)
      : core(std::move(storage)), name(core->name), updated(core->updated) {}

  virtual void refresh() = 0;
  virtual void take_written_gradient() {}
  /// Drops what the program has written where there was no gradient.
  virtual void forget_what_was_written() {}

 private:
  friend void detail::refresh_handed_out();
  friend void detail::take_written_gradients();
  bool handed_out_ = false;
};

/// A parameter. `values` and `g` are views that a program may write to. On a device other than the
/// CPU they are copies, and changes are written back.
struct ParameterStorage : ParameterStorageBase {
  explicit ParameterStorage(std::shared_ptr<dynet_like::ParameterStorage> storage);

  bool has_grad() const override;
  void copy(const ParameterStorage& from);
  void accumulate_grad(const Tensor& gradient);
  void clip(float left, float right);
  void set_value(const std::vector<float>& values);

  const Dim& dim;
  Tensor values;
  Tensor g;  ///< zeros if there is no gradient; accumulate_grad adds to it
  bool nonzero_grad = false;

 protected:
  void refresh() override;
  void take_written_gradient() override;
  void forget_what_was_written() override;

 private:
  Tensor copy_of_gradient();

  Tensor zeros_;
  Tensor copy_, last_copy_;  // of a gradient on another device, now and when it was read
};

/// The gradients of a table's rows. Most rows have none.
class RowGradients {
 public:
  explicit RowGradients(const dynet_like::ParameterStorage& table) : table_(table) {}

  std::size_t size() const { return table_.rows(); }
  const Dim& all_dim() const { return table_.dim; }
  /// A row's gradient, valid until the next backward pass; zeros if it has none.
  Tensor operator[](unsigned row) const;

 private:
  const dynet_like::ParameterStorage& table_;
};

/// The gradient of a whole table: a copy, with zeros for rows without a gradient.
class TableGradient {
 public:
  explicit TableGradient(const RowGradients& rows) : rows_(rows) {}

  operator Tensor() const;

 private:
  const RowGradients& rows_;
};

/// A table.
struct LookupParameterStorage : ParameterStorageBase {
  explicit LookupParameterStorage(std::shared_ptr<dynet_like::ParameterStorage> storage);

  bool has_grad() const override;
  void initialize(unsigned row, const std::vector<float>& values);
  void copy(const LookupParameterStorage& from);
  /// For all rows, or for one.
  void accumulate_grad(const Tensor& gradient);
  void accumulate_grad(unsigned row, const Tensor& gradient);
  /// For n rows, whose gradients follow each other.
  void accumulate_grads(unsigned n, const unsigned* rows, const unsigned*, float* gradients);
  /// Does nothing: rows are views, made when they are asked for.
  void initialize_lookups() {}

  const Dim& all_dim;
  const Dim dim;  ///< of one row
  Tensor all_values;
  std::vector<Tensor> values;
  RowGradients grads;
  TableGradient all_grads;
  std::unordered_set<unsigned> non_zero_grads;
  bool all_updated = false, nonzero_grad = false;

 protected:
  void refresh() override;
};

/// Like a shared_ptr. A program that accesses the members may write to the values, so each access
/// makes later runs read them anew. In a training loop set_value is cheaper.
template <class Storage>
class StorageHandle {
 public:
  using Core = std::shared_ptr<dynet_like::ParameterStorage>;

  StorageHandle() = default;
  StorageHandle(std::nullptr_t) {}
  StorageHandle(std::shared_ptr<Storage> storage) : storage_(std::move(storage)) {}
  /// If a program assigns another storage, this also changes the library's handle.
  StorageHandle(Core& core, std::shared_ptr<Storage> storage)
      : storage_(std::move(storage)), core_(&core) {}
  StorageHandle(const StorageHandle& other) : storage_(other.storage_) {}
  StorageHandle& operator=(const StorageHandle& other) {
    reset(other.storage_);
    return *this;
  }

  void reset(std::shared_ptr<Storage> storage = nullptr) {
    storage_ = std::move(storage);
    if (core_ != nullptr) *core_ = storage_ == nullptr ? nullptr : storage_->core;
  }
  long use_count() const { return storage_.use_count(); }
  Storage* get() const {
    if (storage_ != nullptr) storage_->hand_out();
    return storage_.get();
  }
  Storage& operator*() const { return *get(); }
  Storage* operator->() const { return get(); }
  /// The storage, without handing it out.
  Storage* peek() const { return storage_.get(); }
  explicit operator bool() const { return storage_ != nullptr; }
  operator std::shared_ptr<Storage>() const { return storage_; }
  bool operator==(const StorageHandle& other) const { return storage_ == other.storage_; }
  bool operator==(std::nullptr_t) const { return storage_ == nullptr; }

 private:
  std::shared_ptr<Storage> storage_;
  Core* core_ = nullptr;
};

/// A handle of a parameter; copies refer to the same values.
struct Parameter : dynet_like::Parameter {
  Parameter() = default;
  Parameter(std::shared_ptr<ParameterStorage> storage);
  Parameter(const Parameter& other)
      : dynet_like::Parameter(other), p(dynet_like::Parameter::p, other.p) {}
  Parameter& operator=(const Parameter& other) {
    p = other.p;
    return *this;
  }

  ParameterStorage& get_storage() const;
  Tensor* values() const { return &get_storage().values; }
  Tensor* gradients() const { return &get_storage().g; }
  /// Always 1, since trainers apply the decay at once.
  float current_weight_decay() const { return 1; }
  void scale_gradient(float s) const { get_storage().scale_gradient(s); }

  StorageHandle<ParameterStorage> p{dynet_like::Parameter::p, nullptr};
};

/// A handle of a table.
struct LookupParameter : dynet_like::LookupParameter {
  LookupParameter() = default;
  LookupParameter(std::shared_ptr<LookupParameterStorage> storage);
  LookupParameter(const LookupParameter& other)
      : dynet_like::LookupParameter(other), p(dynet_like::LookupParameter::p, other.p) {}
  LookupParameter& operator=(const LookupParameter& other) {
    p = other.p;
    return *this;
  }

  LookupParameterStorage& get_storage() const;
  std::vector<Tensor>* values() const { return &get_storage().values; }
  float current_weight_decay() const { return 1; }
  void scale_gradient(float s) const { get_storage().scale_gradient(s); }

  StorageHandle<LookupParameterStorage> p{dynet_like::LookupParameter::p, nullptr};
};

namespace detail {
/// The storages of a collection and its subcollections, each made once.
struct StorageRegistry;
}  // namespace detail

/// The parameters of one (sub)collection, in the order of their creation.
struct ParameterCollectionStorage {
  explicit ParameterCollectionStorage(float weight_decay_lambda)
      : weight_decay(weight_decay_lambda) {}

  void project_weights(float radius = 1.0f);
  float gradient_l2_norm() const;

  std::vector<std::shared_ptr<ParameterStorageBase>> all_params;
  std::vector<std::shared_ptr<ParameterStorage>> params;
  std::vector<std::shared_ptr<LookupParameterStorage>> lookup_params;
  L2WeightDecay weight_decay;
};

/// The library's collection, with DyNet's defaults. A handle: copies and subcollections share the
/// parameters. You can add layers of nn/ to it, too.
class ParameterCollection : public dynet_like::ParameterCollection {
 public:
  ParameterCollection() : ParameterCollection(default_weight_decay_lambda) {}
  explicit ParameterCollection(float weight_decay_lambda);
  // Moving copies, as for the library's collection.
  ParameterCollection(const ParameterCollection&) = default;
  ParameterCollection& operator=(const ParameterCollection&) = default;

  /// The initial values are Glorot's if scale is 0, otherwise uniform over [-scale, scale).
  Parameter add_parameters(const Dim& d, float scale = 0.0f, const std::string& name = "",
                           Device* device = default_device);
  Parameter add_parameters(const Dim& d, Device* device);
  Parameter add_parameters(const Dim& d, const std::string& name, Device* device = default_device);
  Parameter add_parameters(const Dim& d, const dynet_like::ParameterInit& init,
                           const std::string& name = "", Device* device = default_device);
  LookupParameter add_lookup_parameters(unsigned n, const Dim& d, const std::string& name = "",
                                        Device* device = default_device);
  LookupParameter add_lookup_parameters(unsigned n, const Dim& d,
                                        const dynet_like::ParameterInit& init,
                                        const std::string& name = "",
                                        Device* device = default_device);
  /// A negative weight decay stands for the parent's.
  ParameterCollection add_subcollection(const std::string& name = "",
                                        float weight_decay_lambda = -1);

  /// The norm of the gradients since the last update.
  float gradient_l2_norm() const { return get_storage().gradient_l2_norm(); }
  void reset_gradient();
  /// Scales every parameter with a larger Euclidean norm than the radius down to it.
  void project_weights(float radius = 1.0f) { get_storage().project_weights(radius); }

  std::vector<std::shared_ptr<ParameterStorageBase>> get_parameter_storages_base() const;
  std::vector<std::shared_ptr<ParameterStorage>> get_parameter_storages() const;
  std::vector<std::shared_ptr<LookupParameterStorage>> get_lookup_parameter_storages() const;
  const std::vector<std::shared_ptr<ParameterStorage>>& parameters_list() const;
  const std::vector<std::shared_ptr<LookupParameterStorage>>& lookup_parameters_list() const;
  /// By full name. Throws UsageError if there is none.
  std::shared_ptr<ParameterStorage> get_parameter_storage(const std::string& name);
  std::shared_ptr<LookupParameterStorage> get_lookup_parameter_storage(const std::string& name);

  /// Number of elements of all parameters that trainers update.
  std::size_t updated_parameter_count() const;
  void set_updated_param(const Parameter* p, bool status) { p->set_updated(status); }
  void set_updated_lookup_param(const LookupParameter* p, bool status) { p->set_updated(status); }
  bool is_updated_param(const Parameter* p) { return p->is_updated(); }
  bool is_updated_lookup_param(const LookupParameter* p) { return p->is_updated(); }

  void set_weight_decay_lambda(float lambda) { storage_->weight_decay.set_lambda(lambda); }
  L2WeightDecay& get_weight_decay() { return storage_->weight_decay; }
  float get_weight_decay_lambda() const { return storage_->weight_decay.get_lambda(); }
  ParameterCollectionStorage& get_storage() const;

 private:
  ParameterCollection(const dynet_like::ParameterCollection& core,
                      std::shared_ptr<detail::StorageRegistry> registry, float lambda);
  template <class Storage>
  std::shared_ptr<Storage> add(const std::shared_ptr<dynet_like::ParameterStorage>& core);

  std::shared_ptr<detail::StorageRegistry> registry_;
  std::shared_ptr<ParameterCollectionStorage> storage_;
};

/// The old name of a collection.
class Model : public ParameterCollection {};

/// Saves all parameters of a model to a text file: see io.h.
void save_dynet_model(std::string filename, ParameterCollection* model);
void load_dynet_model(std::string filename, ParameterCollection* model);

}  // namespace dynet
