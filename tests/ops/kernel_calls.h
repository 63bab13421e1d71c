// Kernels, called directly: those of every instruction set, on items of an op's cases.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dynet_like/device/cpu/kernel_table.h"
#include "tests/ops/cases.h"

namespace dynet_like::op_cases {

/// The kernels of one instruction set.
struct KernelSet {
  std::string target;
  std::unordered_map<std::string_view, Kernels> kernels;
  const cpu::MatrixFunctions* matrices = nullptr;

  const Kernels& of(const OpCall& call) const { return kernels.at(call.op->name); }
};

inline KernelSet chosen_kernels(std::string target) {
  KernelSet set{std::move(target), {}, &cpu::matrix_functions()};
  for (const cpu::KernelEntry& entry : cpu::all_kernels()) {
    set.kernels.emplace(entry.op, entry.kernels);
  }
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
  static constexpr RandomKey kKey{7, 3};

  /// The outputs of all items.
  const std::vector<E>& forward() {
    out_.assign(n_ * type_.output_size, E(-77));
    saved_.assign(n_ * type_.saved_size, E(-77));
    std::vector<std::vector<const void*>> places;
    const std::vector<Operand> in = operands(in_, places);
    ForwardCall call{&type_,        n_,   in.data(),  out_.data(), saved_.data(), integers_.data(),
                     reals_.data(), kKey, &workspace_};
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
    const auto out_items = items_of(out, type_.output_size);
    const auto saved_items = items_of(saved_, type_.saved_size);
    const auto dy_items = items_of(dy, type_.output_size);
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
                            kKey,
                            &workspace_};
    kernels_.backward[static_cast<int>(type_.dtype)](call);
    return dx;
  }

 private:
  std::vector<const void*> items_of(const std::vector<E>& values, std::size_t size) const {
    std::vector<const void*> items(n_);
    for (std::size_t i = 0; i < n_; ++i) items[i] = values.data() + i * size;
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
