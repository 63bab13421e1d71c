// Exact, interned node types: two nodes may run in one batch if and only if their types are equal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/one_thread.h"
#include "dynet_like/ops/op.h"
#include "dynet_like/params/parameter.h"
#include "dynet_like/tape/interner.h"
#include "dynet_like/tape/stable_list.h"

namespace dynet_like::detail {

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

/// An input as a type sees it: its shape, and the argument if all nodes must share it (0: they need
/// not). The argument is an identity, or a number of its own for a value without identity.
using InputKey = std::uint64_t;
constexpr InputKey input_key(ShapeId shape, std::uint32_t argument) {
  return shape | static_cast<std::uint64_t>(argument) << 32;
}
constexpr ShapeId shape_of(InputKey key) { return static_cast<ShapeId>(key); }
constexpr std::uint32_t argument_of(InputKey key) { return static_cast<std::uint32_t>(key >> 32); }
/// Arguments from here on have no identity, and belong to one sample. There are always fewer
/// identities than this.
inline constexpr std::uint32_t kFirstUniqueArgument = 1u << 31;

/// The facts of a type that recording and running need, computed once. Those that recording reads
/// come first.
struct NodeType {
  const Op* op = nullptr;
  TypeId id = 0;
  std::uint32_t inputs = 0;
  /// For each input its key, and then for each input a mask of the parts of a value's key that
  /// count: only the shape if the input is stacked. Attributes are in the signature.
  std::vector<InputKey> keys;
  ShapeId output_shape = 0;
  std::uint32_t output_size = 0;
  /// Every integer of a node is below this (0: no limit).
  std::uint32_t integer_limit = 0;
  bool has_numbers = false;
  /// Whether a node that matches may instead be recorded column by column.
  bool may_go_by_column = false;
  bool has_shared_input = false;
  Signature signature;
  /// By input: the contribution to its gradient if it is shared.
  std::vector<SharedGradient> shared_gradients;

  /// Whether nodes of other samples can be of this type.
  bool is_of_all_samples() const {
    for (std::uint32_t j = 0; j < inputs; ++j) {
      if (argument_of(keys[j]) >= kFirstUniqueArgument) return false;
    }
    return true;
  }

  /// Whether a node of this op is of this type. `its_keys` are the keys of the inputs' values.
  bool matches(const Op& its_op, std::span<const InputKey> its_keys,
               std::span<const std::uint32_t> attributes) const {
    if (op != &its_op || inputs != its_keys.size()) return false;
    const InputKey *key = keys.data(), *counts = key + inputs;
    for (std::size_t j = 0; j < its_keys.size(); ++j) {
      if ((its_keys[j] & counts[j]) != key[j]) return false;
    }
    if (signature.attributes.size() != attributes.size()) return false;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      if (signature.attributes[i] != attributes[i]) return false;
    }
    return true;
  }
};

/// An object that others own and that entries of a table refer to. While graphs that may read it
/// are being recorded, the table owns it, too. Otherwise it only blocks the address, so that no
/// other object gets it.
template <class T>
struct Guest {
  std::weak_ptr<T> known;
  std::shared_ptr<T> held;

  bool is_gone() const { return held != nullptr ? held.use_count() == 1 : known.expired(); }
};

/// The types, shapes, parameters and identities that the graphs of a minibatch have in common. Each
/// recording thread looks up and enters through its own TypeCache. Entries never move, and are read
/// without a lock.
class TypeTable {
 public:
  /// The lock on the graphs of these types, and whether their nodes are being run.
  mutable OneThread user;
  mutable Running running;

  /// The kinds of entries.
  enum class Kind { shape, type, storage, identity };
  static constexpr std::size_t kKinds = 4;

  const Shape& shape(ShapeId id) const { return shapes_[id]; }
  const NodeType& operator[](TypeId id) const { return types_[id]; }
  ParameterStorage& storage(std::uint32_t id) const { return *storages_[id].held; }
  /// Not to be called while others record.
  std::size_t type_count() const { return types_.size(); }
  std::size_t identity_count() const { return keys_of(Kind::identity).size() + 1; }

  /// The number of the entry with this key, or Interner::kNone.
  std::uint32_t find(Kind kind, std::span<const std::uint64_t> key) const;

  const std::shared_ptr<ParameterStorage>& shared_storage(std::uint32_t id) const {
    return storages_[id].held;
  }

  /// Keeps an op alive until `trim`. Its types may stay longer, but not longer than the op exists.
  void keep(const std::shared_ptr<const Op>& op);
  /// The same for the parameter with this number.
  void keep(std::uint32_t storage, const std::shared_ptr<ParameterStorage>& parameter);
  /// The owner of an op that was kept since `trim`; otherwise null.
  std::shared_ptr<const Op> owner_of(const Op* op) const;
  /// Changes with every `trim`, which stops keeping all objects.
  std::uint64_t trims() const { return trims_; }

  // The number of the entry with this key, which is added if it is new.
  ShapeId enter_shape(std::span<const std::uint64_t> key, const Dim& item, DType dtype);
  /// Throws ShapeError or UsageError if the op has no such type.
  TypeId enter_type(std::span<const std::uint64_t> key, const Op& op,
                    std::span<const InputKey> inputs, std::span<const std::uint32_t> attributes);
  /// The parameter is kept alive, too.
  std::uint32_t enter_storage(std::span<const std::uint64_t> key,
                              const std::shared_ptr<ParameterStorage>& parameter);
  /// For a value that depends only on parameters, constants and the words of the key.
  Identity enter_identity(std::span<const std::uint64_t> key);

  /// A number for an argument that is one value of one graph; never an identity.
  std::uint32_t unique_argument();

  /// Call this when no graph is recorded any more. Stops keeping objects alive, so that they end
  /// with their owners. Removes all entries if an object is gone, or if there are far more entries
  /// than any single generation of graphs has made. Returns whether it did: then caches must remove
  /// theirs, too. Allocates nothing. `ends_generation` is false for samples that come as long as
  /// the program runs.
  bool trim(bool ends_generation = true);
  /// Whether `trim` would remove all entries. Not to be called while others record.
  bool has_much_to_forget() const;
  /// The number of entries of all kinds. Not to be called while others record.
  std::size_t size() const;

  /// The key of a shape, written to `words`.
  static std::span<const std::uint64_t> shape_key(
      std::array<std::uint64_t, Dim::kMaxDimensions + 1>& words, const Dim& item, DType dtype);

 private:
  // Programs with ever new shapes would fill the table, so all entries are removed now and then; a
  // few minibatches then cost as much as the first ones did. A program whose graphs have many types
  // keeps its entries: the largest generation tells how many it needs.
  static constexpr std::size_t kFewEntries = 1u << 14, kGenerations = 4;

  Interner& keys_of(Kind kind) { return keys_[static_cast<std::size_t>(kind)]; }
  const Interner& keys_of(Kind kind) const { return keys_[static_cast<std::size_t>(kind)]; }
  ShapeId add_shape(std::span<const std::uint64_t> key, const Dim& item, DType dtype);
  NodeType describe(const Op& op, std::span<const InputKey> inputs,
                    std::span<const std::uint32_t> attributes);

  void let_go();
  bool is_anything_gone() const;
  void forget();

  mutable std::mutex mutex_;
  std::array<Interner, kKinds> keys_;
  StableList<Shape> shapes_;
  StableList<NodeType> types_;
  std::vector<Guest<ParameterStorage>> storages_;
  std::unordered_map<const Op*, Guest<const Op>> ops_;
  std::uint32_t unique_arguments_ = 0;
  std::size_t recursions_ = 0;  ///< among the ops
  std::uint64_t trims_ = 0;
  std::size_t size_at_last_trim_ = 0, largest_generation_ = 0;
  std::size_t most_entries_ = kFewEntries;
};

}  // namespace dynet_like::detail
