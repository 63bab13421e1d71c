// Values and gradients as tensors of this process: in place, or copied from a device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dynet_like/core/tensor.h"
#include "dynet_like/exec/lanes.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like::detail {

/// A tensor is contiguous and in memory of this process. Values on another device, and items of a
/// view with gaps between them, are copied once.
class Results {
 public:
  Results(CommonState& common, Lanes& lanes)
      : common_(common),
        lanes_(lanes),
        gathered_values_(common.memory),
        reading_(common.options.device->make_reading()) {}

  /// Whether the value was computed, or a copy of it exists.
  bool has(ValueRef ref) const;
  /// A computed value. The tensor is valid until the value is cleared or reverted.
  Tensor value(ValueRef ref);
  /// The gradient of a value in a pass over these roots, or zeros; for a parameter, from
  /// `gradients`.
  Tensor gradient(ValueRef ref, const Gradients& gradients, std::span<const ValueRef> roots);

  /// Copies computed values for which `value` will be called: they come from a device in one copy.
  void bring(std::span<const ValueRef> values);
  /// Starts to copy values for which sum_values will be called.
  void gather(std::span<const ValueRef> values);
  /// The sums of the elements of computed values. Values that were not gathered, or were forgotten
  /// since, are read one by one with `value`.
  template <class Value>
  void sum(std::span<const ValueRef> values, std::span<double> sums, const Value& value) {
    const std::vector<const std::byte*> here = find_gathered(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i] = sum_of(here[i] == nullptr ? value(values[i]) : tensor_at(values[i], here[i]));
    }
  }

  /// Copies of values, which outlive the values themselves.
  using Copies = std::map<std::pair<std::uint32_t, ValueId>, std::vector<std::byte>>;
  template <class Value>
  Copies take_copies(std::span<const ValueRef> values, const Value& value) {
    Copies copies;
    for (const ValueRef& ref : values) {
      if (copies.contains({ref.tape, ref.value})) continue;
      const auto known = values_.find({ref.tape, ref.value});
      if (known != values_.end()) {
        copies.insert(values_.extract(known));
        continue;
      }
      const Tensor tensor = value(ref);
      const auto* begin = static_cast<const std::byte*>(tensor.data());
      copies[{ref.tape, ref.value}].assign(begin,
                                           begin + tensor.d.size() * size_of(tensor.dtype()));
    }
    return copies;
  }
  void keep_copies(Copies copies) { values_ = std::move(copies); }

  // Each of these also forgets what was gathered.
  void forget_values();
  /// The values of nodes `first` to `end` - 1.
  void forget_values(std::uint32_t tape, std::size_t first, std::size_t end);
  void forget_gradients() { gradients_.clear(); }

 private:
  /// A value that was gathered, and the place of its copy on the device.
  struct Gathered {
    ValueRef ref;
    std::byte* at;
  };

  static double sum_of(const Tensor& numbers);
  Tensor tensor_at(ValueRef ref, const std::byte* numbers) const;
  const std::byte* find_gradient(ValueRef ref, const Gradients& gradients);
  const std::byte* whole_table(const ParameterStorage& table, const Gradients& gradients);
  Tensor contiguous(ValueRef ref, const std::byte* node, Copies& copies) const;
  std::vector<const std::byte*> find_gathered(std::span<const ValueRef> values);
  std::size_t bytes_of(ValueRef ref) const;

  CommonState& common_;
  Lanes& lanes_;
  Copies values_, gradients_;
  Block table_gradient_;
  Arena gathered_values_;
  std::vector<Gathered> gathered_;
  std::unique_ptr<Reading> reading_;  ///< of gathered values
};

}  // namespace dynet_like::detail
