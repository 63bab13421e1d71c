// Rows: items of one type that kernels compute together, and the calls for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/kernel.h"
#include "dynet_like/tape/type_table.h"

namespace dynet_like::detail {

/// An argument that all items of a call share: a shared value, and the argument's first element.
struct SharedArgument {
  Identity producer = 0;
  std::uint32_t offset = 0;  ///< elements
  bool reaches_parameter = false;
};

/// The places of the same elements of all items: at a constant distance in a block, or, with a
/// list, some bytes behind the list's pointers.
struct ItemPlaces {
  std::byte* first = nullptr;
  std::size_t stride = 0;  ///< from item to item: bytes, or pointers of the list
  void* const* list = nullptr;
  std::size_t begin = 0;

  std::byte* at(std::size_t item) const {
    return list == nullptr ? first + item * stride
                           : static_cast<std::byte*>(list[item * stride]) + begin;
  }
};

/// The sums of products that ran before the rest of their items, one behind the other.
struct EarlySums {
  std::byte* first = nullptr;  ///< null: there are none
  EarlyProducts products;

  /// Whether products of input x are among them.
  bool have(unsigned x) const { return x < 64 && (products.inputs >> x & 1) != 0; }
};

/// Items of one type, one behind the other: their inputs, and the places of their outputs. A batch
/// of nodes is one such object, and so is each step of a program.
struct Rows {
  const NodeType* type = nullptr;
  const Kernels* kernels = nullptr;
  std::uint32_t items = 0;
  const Operand* in = nullptr;                ///< by input
  const SharedArgument* arguments = nullptr;  ///< by input: arguments that all items share
  const std::uint32_t* integers = nullptr;
  const void* reals = nullptr;
  std::byte *out = nullptr, *saved = nullptr;
  std::byte *dy = nullptr, *deferred = nullptr;  ///< in a backward pass
  EarlySums early;
  /// The places of all parts of outputs and of their gradients, if they are not in `out` and `dy`.
  void *const *out_parts = nullptr, *const *dy_parts = nullptr;

  const Signature& signature() const { return type->signature; }
  std::size_t element() const { return size_of(signature().dtype); }
  int dtype_index() const { return static_cast<int>(signature().dtype); }  ///< in Kernels
  /// The distance in bytes from item to item.
  std::size_t stride() const { return signature().output_size * element(); }
  std::size_t saved_stride() const { return signature().saved_size * element(); }
  std::size_t deferred_stride() const { return signature().deferred_size * element(); }
  /// The bytes of the sums of such products.
  std::size_t early_bytes(const EarlyProducts& products) const {
    return items * products.size * element();
  }
  /// The place of an element of the outputs, which is followed by the rest of its part.
  ItemPlaces outputs_from(std::size_t offset) const { return places(out, out_parts, offset); }
  ItemPlaces gradients_from(std::size_t offset) const { return places(dy, dy_parts, offset); }
  /// The numbers for weights: gradients of outputs, or what the kernel left for weights.
  ItemPlaces contributions() const {
    return deferred == nullptr ? gradients_from(0) : ItemPlaces{deferred, deferred_stride()};
  }

 private:
  ItemPlaces places(std::byte* block, void* const* parts, std::size_t offset) const {
    if (parts == nullptr) return {block + offset * element(), stride()};
    const std::size_t size = part_size(signature());
    return {nullptr, signature().op->parts, parts + offset / size, offset % size * element()};
  }
};

/// `count` items from `first` on. Their lists are allocated from `lists`.
Rows part_of(const Rows& rows, std::size_t first, std::size_t count, Arena& lists);

ForwardCall forward_call(const Rows& rows);

/// A call for the items with these numbers, or for all items if the list is empty. Each contributes
/// to each input at its place in `dx`. No operand is packed.
BackwardCall backward_call(const Rows& rows, std::span<const std::uint32_t> items,
                           const Destination* dx, Arena& lists);

}  // namespace dynet_like::detail
