// The arguments of a kernel: N items, and lists of their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet_like/core/dtype.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::ops {

/// The N items of an argument: one pointer each, or one item that all of them share.
struct Operand {
  const void* const* items = nullptr;
  const void* shared = nullptr;
  /// A shared matrix in the layout that products read, if it was packed (see Queue::pack): the
  /// matrix itself in a forward call, its transpose in a backward call.
  const void* packed = nullptr;

  template <class T>
  constexpr const T* at(std::size_t i) const {
    return static_cast<const T*>(items != nullptr ? items[i] : shared);
  }
};

/// Where the N items of a result go (N * parts for an op with parts): one behind the other or, if
/// there is a list, one pointer each. An item has memory for its own elements only; goes_on tells
/// whether the next item follows directly.
struct Output {
  void* first = nullptr;  ///< where item 0 lies, if there is no list
  std::size_t size = 0;   ///< the elements of an item, if there is no list
  void* const* items = nullptr;

  constexpr Output() = default;
  constexpr Output(void* block, std::size_t elements) : first(block), size(elements) {}
  constexpr explicit Output(void* const* list) : items(list) {}

  template <class T>
  constexpr T* at(std::size_t i) const {
    return items != nullptr ? static_cast<T*>(items[i]) : static_cast<T*>(first) + i * size;
  }
};

/// Where N gradients go. If none is wanted there are no pointers, so ask wanted() before at(). A
/// null pointer means that this result is not wanted. `add[i]` tells whether result i is added to
/// the destination; a kernel computes the result first and never starts a sum from the destination.
struct Destination {
  void* const* items = nullptr;
  const std::uint8_t* add = nullptr;

  constexpr bool wanted() const { return items != nullptr; }
  template <class T>
  constexpr T* at(std::size_t i) const {
    return static_cast<T*>(items[i]);
  }
};

/// Whether item i + 1 of an argument begins where item i, `size` elements long, ends.
template <class T>
bool goes_on(const Operand& operand, std::size_t i, std::size_t size) {
  return operand.at<T>(i + 1) == operand.at<T>(i) + size;
}
template <class T>
bool goes_on(const Output& output, std::size_t i, std::size_t size) {
  return output.items == nullptr || output.at<T>(i + 1) == output.at<T>(i) + size;
}
/// The same for a destination; both items must also be added, or both written.
template <class T>
bool goes_on(const Destination& destination, std::size_t i, std::size_t size) {
  return destination.at<T>(i + 1) == destination.at<T>(i) + size &&
         (destination.add[i + 1] != 0) == (destination.add[i] != 0);
}

/// Memory that a kernel may use while it runs; every thread has its own.
class Workspace {
 public:
  virtual ~Workspace() = default;
  /// Uninitialised memory, aligned to 64 bytes, valid until the kernel returns.
  virtual void* bytes(std::size_t size) = 0;
  template <class T>
  T* elements(std::size_t count) {
    return static_cast<T*>(bytes(count * sizeof(T)));
  }
};

/// One batch forward. Saved items lie one behind the other, and so do integers and reals. `saved`
/// is null for the library's own kernels if there will be no backward pass. If `early_inputs` is
/// not 0, the sums of these products (see Op::early) are in `early`.
struct ForwardCall {
  const Signature* type = nullptr;
  std::size_t n = 0;
  const Operand* in = nullptr;
  Output out;
  void* saved = nullptr;
  const std::uint32_t* integers = nullptr;
  const void* reals = nullptr;
  Workspace* workspace = nullptr;
  Output early;
  std::uint64_t early_inputs = 0;
};

/// One batch backward: dx[j] receives dy times the derivative with respect to input j. `in` and
/// `out` are given only if the op declares that it needs them. `out` and `dy` have an item per
/// part. If the op defers gradients, deferred[i] receives the contribution of item i to them.
struct BackwardCall {
  const Signature* type = nullptr;
  std::size_t n = 0;
  const Operand* in = nullptr;
  Operand out, saved, dy;
  const Destination* dx = nullptr;
  void* const* deferred = nullptr;
  const std::uint32_t* integers = nullptr;
  const void* reals = nullptr;
  Workspace* workspace = nullptr;
};

/// The kernels of an op on a device, by DType.
struct Kernels {
  using Forward = void (*)(const ForwardCall&);
  using Backward = void (*)(const BackwardCall&);
  Forward forward[2] = {};
  Backward backward[2] = {};
  /// For Op::early. `begin` writes sums to `early`. `end` computes the gradients of x of these
  /// products after `backward`, which was not asked for them and had places for deferred numbers.
  Forward begin[2] = {};
  Backward end[2] = {};
};

}  // namespace dynet_like::ops

namespace dynet_like::detail {
using ops::BackwardCall, ops::Destination, ops::ForwardCall, ops::Kernels;
using ops::goes_on, ops::Operand, ops::Output, ops::Workspace;
}  // namespace dynet_like::detail
