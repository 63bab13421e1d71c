// Parameters: named tensors that graphs read and trainers update.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/handles.h"
#include "dynet_like/core/tensor.h"
#include "dynet_like/device/device.h"
#include "dynet_like/params/parameter_values.h"

namespace dynet_like {

class Expression;

namespace detail {

/// The layout of the gradients of a collection's parameters. It lives as long as any of them.
struct CollectionLayout {
  struct Entry {
    std::size_t dense_offset = 0, size = 0;  ///< in elements; tables have no dense gradient
    std::size_t rows = 0, entry_size = 0;
    std::string name;
  };
  DType dtype = DType::f32;
  std::shared_ptr<Device> device = cpu_device();
  std::vector<Entry> entries;  ///< by the parameter's index
  /// Elements of the dense gradient: all parameters but tables, each aligned to 64 bytes.
  std::size_t dense_size = 0;
};

/// Brings rows of a table up to date whose updates a trainer has postponed.
class RowRefresher {
 public:
  virtual ~RowRefresher() = default;
  /// Safe to call from several threads; rows may repeat.
  virtual void refresh(std::span<const std::uint32_t> rows) = 0;
  virtual void refresh_all() = 0;
};

}  // namespace detail

/// The values of a parameter or of a table, and what graphs and trainers need to know of it. A
/// table has one entry per row; rows are the last dimension of `dim`.
struct ParameterStorage : std::enable_shared_from_this<ParameterStorage> {
  std::string name;
  Dim dim;
  Dim entry_dim;  ///< of one row, if it is a table, else `dim`
  DType dtype = DType::f32;
  bool is_table = false;
  /// If false, trainers do not update it.
  bool updated = true;
  /// If true, graphs treat it as const_parameter and const_lookup do: it gets no gradient, and
  /// causes no backward pass.
  bool frozen = false;
  detail::ParameterValues values;
  std::shared_ptr<detail::CollectionLayout> layout;
  /// Position in its collection.
  std::size_t index = 0;
  std::shared_ptr<detail::RowRefresher> refresher;
  /// The slot of expressions that stand for it.
  detail::OwnedHandleSlot slot = detail::acquire_handle_slot(*this);

  /// Whether trainers may change it.
  bool is_trained() const { return updated && !frozen; }
  std::size_t size() const { return dim.size(); }
  std::size_t rows() const { return is_table ? dim.d[dim.nd - 1] : 1; }
  std::size_t entry_size() const { return size() / rows(); }
  /// Throws StateError if it belongs to no collection.
  Device& device() const {
    if (layout == nullptr) throw_no_collection();
    return *layout->device;
  }

  /// The values in this process's memory: on the CPU the values themselves, else a copy that is in
  /// sync with the device. After writing to it, call values_written().
  Tensor tensor() const { return Tensor(dim, dtype, values.on_host()); }
  /// The same, if you will write all values: they are not copied from the device.
  Tensor tensor_to_fill() { return Tensor(dim, dtype, values.on_host_to_fill()); }
  /// Call this after writing `count` elements through tensor().
  void values_written(std::size_t first, std::size_t count) {
    values.host_written(first * size_of(dtype), count * size_of(dtype));
  }
  void values_written() { values_written(0, size()); }
  /// Brings all rows up to date, if a trainer has postponed updates.
  void refresh_rows() const {
    if (refresher != nullptr) refresher->refresh_all();
  }

 private:
  [[noreturn]] static void throw_no_collection();
};

/// A handle on a parameter; copies refer to the same values. Operations take it where they take an
/// Expression: `tanh(w * x + b)`.
class Parameter {
 public:
  Parameter() = default;
  explicit Parameter(std::shared_ptr<ParameterStorage> storage) : p(std::move(storage)) {}

  /// Throws UsageError if the handle is empty.
  ParameterStorage& get_storage() const;
  const std::string& get_fullname() const { return get_storage().name; }
  const Dim& dim() const { return get_storage().dim; }
  /// The values, to read or to change; this counts as a change of the parameter. From the first
  /// call on, every run repacks the values for products, since you may write to the tensor: in a
  /// training loop, set_value costs less.
  Tensor values() const;
  /// Takes the values column by column, as a Tensor has them; those of a TensorEntry are row by row
  /// (see load_parameter). Throws ShapeError unless there is one value per element.
  void set_value(const std::vector<float>& values) const;
  void zero() const;
  void scale(float factor) const;
  void clip_inplace(float low, float high) const;
  /// If false, trainers leave it unchanged. Its gradient is computed all the same.
  void set_updated(bool updated) const { get_storage().updated = updated; }
  bool is_updated() const { return get_storage().updated; }

  std::shared_ptr<ParameterStorage> p;
};

/// A handle on a table of equal entries, one per row.
class LookupParameter {
 public:
  LookupParameter() = default;
  explicit LookupParameter(std::shared_ptr<ParameterStorage> storage) : p(std::move(storage)) {}

  ParameterStorage& get_storage() const;
  const std::string& get_fullname() const { return get_storage().name; }
  /// The shape of one entry.
  const Dim& dim() const { return get_storage().entry_dim; }
  std::size_t rows() const { return get_storage().rows(); }
  /// A row, as an input of an operation whose other inputs have a graph. Throws UsageError for a
  /// row that does not exist.
  Expression operator[](unsigned row) const;
  /// The values of one entry, to read or to change. Change them before `forward`: writes between
  /// `forward` and `backward` go unnoticed. Throws UsageError for a row that does not exist.
  Tensor values(unsigned row) const;
  /// The whole table, entry after entry.
  Tensor all_values() const;
  void initialize(unsigned row, const std::vector<float>& values) const;
  void zero() const;
  void scale(float factor) const;
  /// If false, trainers leave it unchanged. Its gradient is computed all the same.
  void set_updated(bool updated) const { get_storage().updated = updated; }
  bool is_updated() const { return get_storage().updated; }

  std::shared_ptr<ParameterStorage> p;
};

}  // namespace dynet_like
