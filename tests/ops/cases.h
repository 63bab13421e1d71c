// What tests generated from the op table share: every call of every op is recorded, or its kernels
// are called directly.
#pragma once

#include <cstring>
#include <deque>
#include <ostream>
#include <unordered_map>
#include <hwy/targets.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/device.h"
#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/graph/minibatch.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"
#include "tests/ops/calls.h"
#include "tests/support/precompiled.h"

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

 private:
  std::vector<Block> blocks_;
};

/// Calls the kernels of an op, and waits for nobody.
struct Caller {
  std::function<void(const ForwardCall&)> forward;
  std::function<void(const BackwardCall&)> backward;
};
/// Those of one instruction set.
inline Caller caller_of(const KernelSet& set, const OpCall& call, DType dtype) {
  const auto with_memory = [](const auto kernel) {
    return [kernel](auto asked) {
      HeapWorkspace workspace;
      asked.workspace = &workspace;
      kernel(asked);
    };
  };
  const Kernels& kernels = set.of(call);
  const int type = static_cast<int>(dtype);
  return {with_memory(kernels.forward[type]), with_memory(kernels.backward[type])};
}
/// Those of a device, through a queue.
inline Caller caller_of(const std::shared_ptr<Queue>& queue, const OpCall& call, DType dtype) {
  const int type = static_cast<int>(dtype);
  const Op& op = *call.op;
  return {[queue, &op, type](const ForwardCall& asked) {
            queue->forward(queue->kernels(op).forward[type], asked);
            queue->submit();
          },
          [queue, &op, type](const BackwardCall& asked) {
            queue->backward(queue->kernels(op).backward[type], asked);
            queue->submit();
          }};
}

/// How what a call reads lies: each input of all items one behind the other, or otherwise.
struct InputPlaces {
  bool share = false;       ///< one for all items, where there may be one
  bool apart = false;       ///< each item by itself, at aligned addresses and at others
  bool same_place = false;  ///< those of the first item for all, as several items of a node read
  const Item* shared = nullptr;  ///< the item that has what is for all, if not the first
};
/// How the items of outputs lie.
enum class Layout {
  block,     ///< one behind the other, without a list
  in_order,  ///< with a list, and a gap behind every third
  shuffled   ///< with a list, in another order, and with a gap behind each
};
/// The elements from the begin of a block to each of n items of `size` elements, and to the end.
inline std::vector<std::size_t> offsets_of(Layout layout, std::size_t n, std::size_t size) {
  std::vector<std::size_t> order(n), offsets(n + 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout == Layout::shuffled) {
    Random random(n);
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }
  std::size_t at = layout == Layout::block ? 0 : 1;
  for (std::size_t k = 0; k < n; ++k) {
    offsets[order[k]] = at;
    at += size;
    if (layout == Layout::shuffled) at += 1 + k % 5;
    if (layout == Layout::in_order && k % 3 == 2) at += 3;
  }
  offsets[n] = at + (layout == Layout::block ? 0 : n * size);  // so that faults write to a gap
  return offsets;
}
/// What becomes of a gradient: written, added to what is there, or not wanted, of one item or of
/// all items of an input.
enum class Want { written, added, nothing, nothing_of_input };
/// How a backward kernel is called.
struct BackwardChoice {
  std::function<Want(std::size_t item, std::size_t input)> want = [](std::size_t, std::size_t) {
    return Want::written;
  };
  double prior = 0;                                   ///< what is there
  bool poison_inputs = false, poison_output = false;  ///< NaN instead of the values
  bool defers = false;                                ///< to places for each item
};

/// One call of an op's kernels on some items, all memory its own.
template <class E>
class KernelCall {
 public:
  KernelCall(Device& device, Caller caller, const OpCall& call,
             const std::vector<const Item*>& items, const InputPlaces& places = {})
      : device_(device),
        caller_(std::move(caller)),
        type_(signature_of(call, dtype_of<E>)),
        n_(items.size()),
        apart_(places.apart) {
    const Item& of_all = places.shared != nullptr ? *places.shared : *items[0];
    for (std::size_t j = 0; j < call.inputs(); ++j) {
      const Join join = call.op->joins(static_cast<unsigned>(j), call.shapes.attributes);
      Operand& in = in_.emplace_back();
      std::vector<const void*>& list = lists_.emplace_back();
      if (join == Join::shared || (places.share && join == Join::broadcast)) {
        in.shared = put(std::vector<E>(of_all.inputs[j].begin(), of_all.inputs[j].end()));
        continue;
      }
      std::vector<E> all;
      for (const Item* item : items) {
        all.insert(all.end(), item->inputs[j].begin(), item->inputs[j].end());
      }
      const std::vector<E*> own = spread(all, type_.inputs[j].size());
      for (std::size_t i = 0; i < n_; ++i) list.push_back(own[places.same_place ? 0 : i]);
      in.items = list.data();
    }
    for (const Item* item : items) {
      integers_.insert(integers_.end(), item->integers.begin(), item->integers.end());
      reals_.insert(reals_.end(), item->reals.begin(), item->reals.end());
    }
  }
  /// Of one instruction set of the CPU.
  KernelCall(const OpCall& call, const KernelSet& set, std::span<const Item> items, bool share)
      : KernelCall(*cpu_device(), caller_of(set, call, dtype_of<E>), call, pointers_to(items),
                   {.share = share}) {}

  static std::vector<const Item*> pointers_to(std::span<const Item> items) {
    std::vector<const Item*> pointers;
    for (const Item& item : items) pointers.push_back(&item);
    return pointers;
  }

  const Signature& type() const { return type_; }
  bool is_shared(std::size_t input) const { return in_[input].shared != nullptr; }
  /// Of all items, one behind the other.
  const std::vector<E>& out() const { return out_; }
  const std::vector<E>& saved() const { return saved_; }
  const std::vector<E>& deferred() const { return deferred_; }
  bool gaps_are_untouched() const { return gaps_are_untouched_; }

  const std::vector<E>& forward(Layout layout = Layout::block) {
    constexpr E kUntouched = E(-77);
    const std::size_t size = part_size(type_), parts = n_ * type_.op->parts;
    const std::vector<std::size_t> offsets = offsets_of(layout, parts, size);
    E* const out = put(std::vector<E>(offsets[parts], kUntouched));
    E* const saved = put(std::vector<E>(n_ * type_.saved_size, kUntouched));
    std::vector<void*> list;
    for (std::size_t i = 0; i < parts; ++i) list.push_back(out + offsets[i]);
    out_list_.assign(list.begin(), list.end());
    saved_list_.clear();
    for (std::size_t i = 0; i < n_; ++i) saved_list_.push_back(saved + i * type_.saved_size);
    ForwardCall call;
    call.type = &type_;
    call.n = n_;
    call.in = in_.data();
    call.out = layout == Layout::block ? Output(out, size) : Output(list.data());
    if (type_.saved_size > 0) call.saved = saved;
    if (!integers_.empty()) call.integers = integers_.data();
    if (!reals_.empty()) call.reals = reals_.data();
    caller_.forward(call);
    out_.clear();
    std::vector<E> all = get(out, offsets[parts]);
    for (std::size_t i = 0; i < parts; ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
      out_.insert(out_.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
      std::fill_n(begin, size, kUntouched);
    }
    gaps_are_untouched_ = std::ranges::count(all, kUntouched) == std::ssize(all);
    saved_ = get(saved, n_ * type_.saved_size);
    return out_;
  }

  /// The gradients of every input, after a forward call; none of inputs that want none.
  std::vector<std::vector<E>> backward(const std::vector<E>& dy,
                                       const BackwardChoice& choice = {}) {
    const std::size_t inputs = in_.size();
    std::vector<std::vector<E*>> dx(inputs);
    std::vector<std::vector<void*>> to(inputs);
    std::vector<std::vector<std::uint8_t>> add(inputs);
    std::vector<Destination> destinations(inputs);
    for (std::size_t j = 0; j < inputs; ++j) {
      if (choice.want(0, j) == Want::nothing_of_input) continue;
      const std::size_t size = type_.inputs[j].size();
      dx[j] = spread(std::vector<E>(n_ * size, static_cast<E>(choice.prior)), size);
      for (std::size_t i = 0; i < n_; ++i) {
        const Want want = choice.want(i, j);
        to[j].push_back(want == Want::nothing ? nullptr : dx[j][i]);
        add[j].push_back(want == Want::added);
      }
      destinations[j] = {to[j].data(), add[j].data()};
    }
    const std::vector<Operand> poisoned = choice.poison_inputs ? poison() : std::vector<Operand>();
    const std::vector<const void*> poisoned_out(out_list_.size(), nan_of(part_size(type_)));
    const std::vector<E*> of_parts = spread(dy, part_size(type_));
    const std::vector<const void*> dy_list(of_parts.begin(), of_parts.end());
    std::vector<E*> places;
    if (choice.defers && type_.deferred_size > 0) {
      places = spread(std::vector<E>(n_ * type_.deferred_size), type_.deferred_size);
    }
    const std::vector<void*> deferred(places.begin(), places.end());
    BackwardCall call;
    call.type = &type_;
    call.n = n_;
    if (choice.poison_inputs || type_.op->needs_inputs()) {
      call.in = choice.poison_inputs ? poisoned.data() : in_.data();
    }
    if (choice.poison_output || type_.op->needs_output()) {
      call.out.items = choice.poison_output ? poisoned_out.data() : out_list_.data();
    }
    if (type_.saved_size > 0) call.saved.items = saved_list_.data();
    call.dy.items = dy_list.data();
    call.dx = destinations.data();
    if (!deferred.empty()) call.deferred = deferred.data();
    if (!integers_.empty()) call.integers = integers_.data();
    if (!reals_.empty()) call.reals = reals_.data();
    caller_.backward(call);
    std::vector<std::vector<E>> gradients(inputs);
    for (std::size_t j = 0; j < inputs; ++j) gradients[j] = joined(dx[j], type_.inputs[j].size());
    deferred_ = joined(places, type_.deferred_size);
    return gradients;
  }

 private:
  // Inputs of NaN.
  std::vector<Operand> poison() {
    std::vector<Operand> result(in_.size());
    for (std::size_t j = 0; j < in_.size(); ++j) {
      const E* const nan = nan_of(type_.inputs[j].size());
      poisoned_lists_.emplace_back(n_, nan);
      in_[j].shared != nullptr ? result[j].shared = nan
                               : result[j].items = poisoned_lists_.back().data();
    }
    return result;
  }
  E* nan_of(std::size_t size) {
    return put(std::vector<E>(size, std::numeric_limits<E>::quiet_NaN()));
  }
  E* put(const std::vector<E>& numbers) {
    const std::size_t shift = apart_ ? blocks_.size() % 5 : 0;
    const std::size_t bytes = (numbers.size() + shift + 1) * sizeof(E);
    auto* const place =
        reinterpret_cast<E*>(blocks_.emplace_back(bytes, device_.memory()).data()) + shift;
    device_.write(place, numbers.data(), numbers.size() * sizeof(E));
    return place;
  }
  // Where each `size` of these numbers are.
  std::vector<E*> spread(const std::vector<E>& numbers, std::size_t size) {
    std::vector<E*> places;
    E* const first = apart_ ? nullptr : put(numbers);
    for (std::size_t at = 0; at < numbers.size(); at += size) {
      const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
      places.push_back(apart_ ? put({begin, begin + static_cast<std::ptrdiff_t>(size)})
                              : first + at);
    }
    return places;
  }
  std::vector<E> get(const E* place, std::size_t size) {
    std::vector<E> numbers(size);
    device_.read(numbers.data(), place, size * sizeof(E));
    return numbers;
  }
  std::vector<E> joined(const std::vector<E*>& places, std::size_t size) {
    std::vector<E> all;
    for (const E* place : places) {
      const std::vector<E> one = get(place, size);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  Device& device_;
  Caller caller_;
  Signature type_;
  std::size_t n_;
  bool apart_;
  std::vector<Operand> in_;
  std::deque<std::vector<const void*>> lists_, poisoned_lists_;
  std::vector<const void*> out_list_, saved_list_;
  std::vector<E> out_, saved_, deferred_, reals_;
  std::vector<std::uint32_t> integers_;
  bool gaps_are_untouched_ = true;
  std::vector<Block> blocks_;
};

template <class E>
std::vector<E> converted(std::span<const double> numbers) {
  return std::vector<E>(numbers.begin(), numbers.end());
}

}  // namespace dynet_like::op_cases
