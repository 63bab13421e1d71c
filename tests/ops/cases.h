// What tests generated from the op table share: every call of every op is recorded, or its kernels
// are called directly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "tests/ops/calls.h"

namespace dynet_like::op_cases {

/// Input j of all items, one behind the other.
inline std::vector<float> joined_input(std::span<const Item> items, std::size_t j) {
  std::vector<float> joined;
  for (const Item& item : items) {
    for (double x : item.inputs[j]) joined.push_back(static_cast<float>(x));
  }
  return joined;
}

/// The same shape for a minibatch of n.
inline Dim minibatch_of(Dim dim, std::size_t n) {
  dim.bd = static_cast<unsigned>(n);
  return dim;
}

inline Expression record(ComputationGraph& graph, const OpCall& call,
                         std::span<const Expression> inputs, std::span<const Item> items);

/// A node for each item, and all results as a minibatch.
inline Expression record_one_by_one(ComputationGraph& graph, const OpCall& call,
                                    std::span<const Expression> inputs,
                                    std::span<const Item> items) {
  std::vector<Expression> results;
  for (unsigned i = 0; i < std::max<std::size_t>(items.size(), inputs[0].dim().bd); ++i) {
    std::vector<Expression> own;
    for (const Expression& x : inputs) {
      own.push_back(x.dim().bd == 1 ? x : pick_batch_elem(x, i));
    }
    results.push_back(record(graph, call, own, items.subspan(items.size() == 1 ? 0 : i, 1)));
  }
  return concatenate_to_batch(results);
}

/// Records the call with the numbers of these items. Constants are made by their own function.
inline Expression record(ComputationGraph& graph, const OpCall& call,
                         std::span<const Expression> inputs, std::span<const Item> items) {
  if (call.op == &ops::constant) {
    const std::vector<long> sizes(call.shapes.attributes.begin() + 1, call.shapes.attributes.end());
    const Dim dim(sizes, static_cast<unsigned>(items.size()));
    return constant(graph, dim, static_cast<float>(items[0].reals[0]));
  }
  if (call.op->max_inputs == 0) {  // a distribution
    const std::vector<long> sizes(call.shapes.attributes.begin() + 1, call.shapes.attributes.end());
    const Dim dim(sizes, static_cast<unsigned>(items.size()));
    return graph.expression(graph.record().writer().add_source(*call.op, dim, items[0].reals));
  }
  if (is_open(call) && (items.size() > 1 || inputs[0].dim().bd > 1)) {
    return record_one_by_one(graph, call, inputs, items);
  }
  std::vector<std::uint32_t> integers;
  std::vector<double> reals;
  for (const Item& item : items) {
    if (!call.op->numbers.random) {
      integers.insert(integers.end(), item.integers.begin(), item.integers.end());
    }
    reals.insert(reals.end(), item.reals.begin(), item.reals.end());
  }
  return apply_op(*call.op, inputs, call.shapes.attributes, integers, reals);
}

/// The gradient of all elements of a parameter or a table, zeros where there is none.
inline std::vector<std::byte> gradient_of(const ParameterStorage& storage,
                                          const Gradients& gradients) {
  std::vector<std::byte> result(storage.size() * size_of(storage.dtype));
  Device& device = storage.device();
  if (const void* dense = gradients.find_dense(storage); dense != nullptr) {
    device.read(result.data(), dense, result.size());
  }
  const Gradients::Rows* rows = gradients.find_rows(storage);
  const std::size_t bytes = storage.entry_size() * size_of(storage.dtype);
  for (std::uint32_t row = 0; rows != nullptr && row < storage.rows(); ++row) {
    const std::byte* entry = rows->find(storage, row);
    if (entry != nullptr) device.read(result.data() + row * bytes, entry, bytes);
  }
  return result;
}

/// A parameter or a table with these values, and the way to its gradient.
struct Argument {
  Parameter parameter;
  LookupParameter table;

  Argument(ParameterCollection& collection, const OpCall& call, std::size_t j,
           std::span<const double> values) {
    Dim dim = call.shapes.inputs[j];
    if (must_share(call, j)) {
      const unsigned rows = dim.d[dim.nd - 1];
      dim.resize(dim.nd - 1);
      table = collection.add_lookup_parameters(rows, dim);
    } else {
      parameter = collection.add_parameters(dim);
    }
    for (std::size_t i = 0; i < values.size(); ++i) tensor().set(i, values[i]);
  }

  ParameterStorage& storage() const {
    return table.p != nullptr ? table.get_storage() : parameter.get_storage();
  }
  Tensor tensor() const { return table.p != nullptr ? table.all_values() : parameter.values(); }
  Expression in(ComputationGraph& graph) const {
    return table.p != nullptr ? dynet_like::parameter(graph, table)
                              : dynet_like::parameter(graph, parameter);
  }

  std::vector<std::byte> gradient(const Gradients& gradients) const {
    return gradient_of(storage(), gradients);
  }
};

using Flags = std::vector<std::uint8_t>;

/// Which arguments are the same parameter for all items: none, each alone, all but each, all that
/// may be shared; never all, which would be one node for all samples.
inline std::vector<Flags> sharings(const OpCall& call) {
  const std::size_t n = call.inputs();
  std::vector<Flags> result = {Flags(n, 0)};
  const auto add = [&](Flags flags) {
    for (std::size_t j = 0; j < n; ++j) flags[j] |= must_share(call, j);
    const bool all = std::count(flags.begin(), flags.end(), 0) == 0;
    if (all && call.op->batching.shareable && n > 0) return;
    if (std::find(result.begin(), result.end(), flags) == result.end()) result.push_back(flags);
  };
  Flags joined(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    Flags one(n, 0), others(n, 1);
    one[j] = 1;
    others[j] = 0;
    joined[j] = call.op->joins(static_cast<unsigned>(j), call.shapes.attributes) != Join::stacked;
    add(one);
    add(others);
  }
  add(joined);
  if (n > 0 && must_share(call, 0)) result.erase(result.begin());
  return result;
}

inline std::string sharing_name(const Flags& shared) {
  std::string name = "shared: ";
  for (std::uint8_t flag : shared) name += flag != 0 ? 'y' : 'n';
  return name;
}

/// NaNs have many bit patterns; which one comes of two is the processor's choice.
inline std::vector<std::byte> without_nan_payload(std::vector<std::byte> bytes, DType dtype) {
  const auto replace = [&]<class E>(E nan) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(E)) {
      E x;
      std::memcpy(&x, bytes.data() + at, sizeof(E));
      if (std::isnan(x)) std::memcpy(bytes.data() + at, &nan, sizeof(E));
    }
  };
  dtype == DType::f32 ? replace(std::numeric_limits<float>::quiet_NaN())
                      : replace(std::numeric_limits<double>::quiet_NaN());
  return bytes;
}

// ---------------------------------------------------------------------- kernels, called directly

/// The kernels of one instruction set.
struct KernelSet {
  std::string target;
  std::unordered_map<std::string_view, Kernels> kernels;
  const cpu::MatrixFunctions* matrices = nullptr;

  const Kernels& of(const OpCall& call) const { return kernels.at(call.op->name); }
};

inline KernelSet chosen_kernels(std::string target) {
  KernelSet set{std::move(target), {}, &cpu::matrix_functions()};
  for (const KernelEntry& entry : cpu::all_kernels()) {
    set.kernels.emplace(entry.op, entry.kernels);
  }
  for (const Op* op : formula_ops()) set.kernels.emplace(op->name, formula_kernels());
  return set;
}

/// The kernels of every instruction set that was compiled and that this machine has.
inline const std::vector<KernelSet>& kernel_sets() {
  static const std::vector<KernelSet> all = [] {
    std::vector<KernelSet> sets;
    const auto supported = static_cast<std::uint64_t>(hwy::SupportedTargets());
    // The lowest bit is the best one; a target that was not compiled gives the next one.
    for (std::uint64_t allowed = supported; allowed != 0; allowed &= allowed - 1) {
      hwy::GetChosenTarget().Update(static_cast<std::int64_t>(allowed));
      const std::uint64_t best = allowed & (~allowed + 1);
      KernelSet set = chosen_kernels(hwy::TargetName(static_cast<std::int64_t>(best)));
      const bool known = !sets.empty() && sets.back().kernels.at("tanh").forward[0] ==
                                              set.kernels.at("tanh").forward[0];
      if (known) sets.pop_back();
      sets.push_back(std::move(set));
    }
    hwy::GetChosenTarget().Update(static_cast<std::int64_t>(supported));
    return sets;
  }();
  return all;
}

class HeapWorkspace : public Workspace {
 public:
  void* bytes(std::size_t size) override {
    blocks_.emplace_back(size);
    return blocks_.back().data();
  }
  void reset() { blocks_.clear(); }

 private:
  std::vector<Block> blocks_;
};

/// How a backward kernel is called.
struct BackwardChoice {
  bool add = false;  ///< to destinations that hold `prior`
  double prior = 0;
  std::vector<std::uint8_t> unwanted_inputs = {}, unwanted_items = {};  ///< 1: no destination
  bool poison_inputs = false, poison_output = false;  ///< NaN instead of the values
};

/// One call of an op's kernels on some items, all memory its own.
template <class E>
class KernelCall {
 public:
  /// `share_inputs`: inputs that may be shared are given once, from the first item.
  KernelCall(const OpCall& call, const Kernels& kernels, std::span<const Item> items,
             bool share_inputs)
      : type_(signature_of(call, dtype_of<E>)), kernels_(kernels), n_(items.size()) {
    for (std::size_t j = 0; j < call.inputs(); ++j) {
      const Join join = call.op->joins(static_cast<unsigned>(j), call.shapes.attributes);
      is_shared_.push_back(join == Join::shared || (share_inputs && join == Join::broadcast));
      in_.emplace_back();
      for (const Item& item : items.first(is_shared_[j] ? 1 : n_)) {
        in_[j].insert(in_[j].end(), item.inputs[j].begin(), item.inputs[j].end());
      }
    }
    for (const Item& item : items) {
      integers_.insert(integers_.end(), item.integers.begin(), item.integers.end());
      reals_.insert(reals_.end(), item.reals.begin(), item.reals.end());
    }
  }

  const Signature& type() const { return type_; }
  const std::vector<E>& out() const { return out_; }

  /// The outputs of all items.
  const std::vector<E>& forward() {
    out_.assign(n_ * type_.output_size, E(-77));
    saved_.assign(n_ * type_.saved_size, E(-77));
    std::vector<std::vector<const void*>> places;
    const std::vector<Operand> in = operands(in_, places);
    const Output out(out_.data(), part_size(type_));
    ForwardCall call{&type_,        n_,          in.data(), out, saved_.data(), integers_.data(),
                     reals_.data(), &workspace_, {}};
    kernels_.forward[static_cast<int>(type_.dtype)](call);
    return out_;
  }

  /// The gradients of every input, after a forward call; unwanted ones keep `prior`.
  std::vector<std::vector<E>> backward(const std::vector<E>& dy,
                                       const BackwardChoice& choice = {}) {
    const std::size_t inputs = type_.inputs.size();
    std::vector<std::vector<E>> dx(inputs);
    std::vector<std::vector<void*>> to(inputs);
    std::vector<Destination> destinations(inputs);
    const std::vector<std::uint8_t> add(n_, choice.add);
    for (std::size_t j = 0; j < inputs; ++j) {
      const std::size_t size = type_.inputs[j].size();
      dx[j].assign(n_ * size, static_cast<E>(choice.prior));
      if (!choice.unwanted_inputs.empty() && choice.unwanted_inputs[j] != 0) continue;
      for (std::size_t i = 0; i < n_; ++i) {
        const bool unwanted = !choice.unwanted_items.empty() && choice.unwanted_items[i] != 0;
        to[j].push_back(unwanted ? nullptr : dx[j].data() + i * size);
      }
      destinations[j] = {to[j].data(), add.data()};
    }
    std::vector<std::vector<E>> in = in_;
    std::vector<E> out = out_;
    constexpr E kPoison = std::numeric_limits<E>::quiet_NaN();
    if (choice.poison_inputs) {
      for (auto& input : in) std::fill(input.begin(), input.end(), kPoison);
    }
    if (choice.poison_output) std::fill(out.begin(), out.end(), kPoison);
    std::vector<std::vector<const void*>> places;
    const std::vector<Operand> operand = operands(in, places);
    const auto out_items = items_of(out, part_size(type_), type_.op->parts);
    const auto saved_items = items_of(saved_, type_.saved_size);
    const auto dy_items = items_of(dy, part_size(type_), type_.op->parts);
    const BackwardCall call{&type_,
                            n_,
                            operand.data(),
                            {out_items.data(), nullptr},
                            {saved_items.data(), nullptr},
                            {dy_items.data(), nullptr},
                            destinations.data(),
                            nullptr,
                            integers_.data(),
                            reals_.data(),
                            &workspace_};
    kernels_.backward[static_cast<int>(type_.dtype)](call);
    return dx;
  }

 private:
  std::vector<const void*> items_of(const std::vector<E>& values, std::size_t size,
                                    std::size_t each = 1) const {
    std::vector<const void*> items(n_ * each);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = values.data() + i * size;
    return items;
  }

  std::vector<Operand> operands(const std::vector<std::vector<E>>& in,
                                std::vector<std::vector<const void*>>& places) const {
    std::vector<Operand> result(in.size());
    places.resize(in.size());
    for (std::size_t j = 0; j < in.size(); ++j) {
      if (is_shared_[j] != 0) {
        result[j].shared = in[j].data();
      } else {
        places[j] = items_of(in[j], type_.inputs[j].size());
        result[j].items = places[j].data();
      }
    }
    return result;
  }

  Signature type_;
  const Kernels& kernels_;
  std::size_t n_;
  std::vector<std::uint8_t> is_shared_;
  std::vector<std::vector<E>> in_;
  std::vector<E> out_, saved_, reals_;
  std::vector<std::uint32_t> integers_;
  HeapWorkspace workspace_;
};

template <class E>
std::vector<E> converted(std::span<const double> numbers) {
  return std::vector<E>(numbers.begin(), numbers.end());
}

}  // namespace dynet_like::op_cases
