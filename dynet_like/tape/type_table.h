// Exact, interned node types: two nodes may run in one batch if and only if their types are equal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/ops/op.h"
#include "dynet_like/params/parameter.h"
#include "dynet_like/tape/interner.h"

namespace dynet_like {

/// Numbers of interned things. Identity 0 means that a value is not shared between graphs.
using ShapeId = std::uint32_t;
using TypeId = std::uint32_t;
using Identity = std::uint32_t;

/// The shape and element type of one item.
struct Shape {
  Dim dim;
  DType dtype = DType::f32;
  std::uint32_t size = 0;
};

/// What a type says of an input: its shape, and which argument it is if all nodes share it.
struct InputKey {
  ShapeId shape = 0;
  std::uint32_t shared = 0;
};

/// A range of `length` elements along dimension d of a shape: what pick_range makes of it.
struct RangeShape {
  ShapeId from = ~ShapeId{0};
  std::uint32_t d = 0, length = 0;
  ShapeId to = 0;
  std::uint32_t inner = 0;       ///< elements between neighbours along the dimension
  std::uint32_t last_start = 0;  ///< the largest start that fits
};

/// What recording and running need to know of a type, computed once.
struct NodeType {
  const Op* op = nullptr;
  Signature signature;
  ShapeId output_shape = 0;
  std::uint32_t inputs = 0;
  bool has_shared_input = false;
  /// By input: what it contributes if it is shared.
  std::vector<SharedGradient> shared_gradients;
  /// Every integer of a node is below this (0: no limit).
  std::uint32_t integer_limit = 0;
};

/// The types, shapes, parameters and identities that the graphs of a minibatch have in common.
/// Not for use by several threads at once.
class TypeTable {
 public:
  TypeTable();

  /// The number of a shape of one item.
  ShapeId shape(const Dim& item, DType dtype);
  const Shape& shape(ShapeId id) const { return shapes_[id]; }

  /// The type of a node with these inputs. Throws ShapeError if the op has no such type.
  TypeId type(const Op& op, std::span<const InputKey> inputs,
              std::span<const std::uint32_t> attributes);
  const NodeType& operator[](TypeId id) const { return types_[id]; }
  std::size_t type_count() const { return types_.size(); }

  /// The shape of a range. Throws ShapeError if there is no such range. Valid until the next call.
  const RangeShape& range(ShapeId from, std::uint32_t d, std::uint32_t length) {
    RangeShape& known = ranges_[(from * 31 + length * 7 + d) % ranges_.size()];
    if (known.from != from || known.d != d || known.length != length) {
      known = describe_range(from, d, length);
    }
    return known;
  }

  /// The number of a parameter, which stays alive as long as the table (or until `clear`).
  std::uint32_t storage(const std::shared_ptr<ParameterStorage>& parameter);
  ParameterStorage& storage(std::uint32_t id) const { return *storages_[id]; }

  /// The identity of a value that follows from parameters, constants and these words alone.
  Identity identity(std::span<const std::uint64_t> words) {
    return identities_.intern(words).first + 1;
  }
  std::size_t identity_count() const { return identities_.size() + 1; }

  /// A number that marks one value of one graph as an argument that nodes share.
  std::uint32_t unique_argument() { return 2 * unique_arguments_++ + 1; }
  /// The mark of an argument with an identity.
  static std::uint32_t shared_argument(Identity identity) { return 2 * identity; }

  /// Forgets what only it keeps alive, and everything once it has grown large; no graph may hold a
  /// number any more.
  void trim();

 private:
  NodeType describe(const Op& op, std::span<const InputKey> inputs,
                    std::span<const std::uint32_t> attributes);

  RangeShape describe_range(ShapeId from, std::uint32_t d, std::uint32_t length);

  Interner shape_keys_, type_keys_, identities_, storage_keys_;
  std::vector<Shape> shapes_;
  std::array<RangeShape, 64> ranges_;  ///< those asked for lately
  std::vector<NodeType> types_;
  std::vector<std::shared_ptr<ParameterStorage>> storages_;
  std::vector<std::uint64_t> words_;  ///< the key that is being looked up
  std::uint32_t unique_arguments_ = 1;
};

}  // namespace dynet_like
