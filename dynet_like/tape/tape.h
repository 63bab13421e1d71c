// The tape: what was recorded, as flat arrays of nodes, edges, values and numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/integers_at.h"
#include "dynet_like/tape/call_stacks.h"
#include "dynet_like/tape/flat_array.h"
#include "dynet_like/tape/type_cache.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

using ValueId = std::uint32_t;

/// An operation that was recorded. How many inputs and numbers it has follows from its type.
struct Node {
  TypeId type = 0;
  std::uint32_t first_edge = 0;    ///< into edges(): its inputs, as values
  std::uint32_t first_number = 0;  ///< among the NodeNumbers
  ValueId value = 0;               ///< its whole output
};

/// A stretch of a node's output: what an edge refers to. Item i begins at offset + i * stride
/// elements; a view is a value of its own that needs no node.
struct alignas(32) Value {
  NodeId node = 0;
  std::uint32_t offset = 0;
  ShapeId shape = 0;      ///< of one item
  Identity identity = 0;  ///< not 0: depends on parameters and constants alone
  std::uint32_t items = 1;
  std::uint32_t stride = 0;
  /// Whether a parameter can be reached from here, and whether gradients stop here.
  bool reaches_parameter = false, blocks_gradient = false;
  bool is_read = false;  ///< by a node, or by a view of it; or was, before something was reverted

  /// Whether they are the same elements in the same shape, with the same gradient.
  bool is_same_stretch(const Value& b) const {
    return node == b.node && offset == b.offset && shape == b.shape && items == b.items &&
           (items == 1 || stride == b.stride) && identity == b.identity &&
           blocks_gradient == b.blocks_gradient;
  }
};

/// The numbers of a node: for every item as many as the op wants, or once for all.
struct Numbers {
  std::span<const std::uint32_t> integers = {};
  std::span<const double> reals = {};
  IntegersAt later = {};  ///< instead of integers: those that will be there when the node runs

  bool are_given() const { return !integers.empty() || !reals.empty(); }
};

/// An op and what it is applied to.
struct OpCall {
  const Op& op;
  std::span<const ValueId> inputs;
  std::span<const std::uint32_t> attributes;
  Numbers numbers;

  /// How many integers an item has.
  unsigned integers() const { return op.integers(attributes); }
  /// How many items the numbers are for.
  std::uint32_t items_of_numbers() const {
    std::size_t items = 1;
    if (integers() > 0 && !op.numbers.random) items = numbers.integers.size() / integers();
    if (op.numbers.reals > 0) items = std::max(items, numbers.reals.size() / op.numbers.reals);
    return static_cast<std::uint32_t>(items);
  }
};

/// What the random numbers of a tape follow from.
struct RandomNodes {
  std::optional<std::uint64_t> seed = {};  ///< to be set before any is recorded
  std::uint32_t count = 0;                 ///< of random nodes that there are, and were

  /// Throws UsageError, for `user`, if there is no seed.
  std::uint64_t seed_for(std::string_view user) const;
};

/// The numbers of all nodes: of each its integers, item by item, and then its reals. An input, a
/// parameter or a recursion has one number instead, its place among those.
class NodeNumbers {
 public:
  std::size_t size() const { return words_.size(); }
  std::span<const std::uint32_t> from(std::size_t first) const {
    return std::span<const std::uint32_t>(words_).subspan(first);
  }
  std::uint32_t operator[](std::size_t place) const { return words_[place]; }
  /// The real number at this place.
  double real(std::size_t place) const;

  void add(std::uint32_t number) { words_.push_back(number); }
  /// Those of a node. Throws UsageError if the type has others, or for an integer that is too
  /// large.
  void add(const NodeType& type, std::uint32_t items, const Numbers& numbers, RandomNodes& random);

  /// The integers of this node, the last one that has any so far, are read when it runs.
  void note_later(NodeId node, const IntegersAt& integers) { later_.push_back({node, integers}); }
  /// Where those of a node are to be read, or null.
  const IntegersAt* later(NodeId node) const { return later_.empty() ? nullptr : find_later(node); }
  /// Writes over the seed of a random node's items.
  void set_seed(std::size_t first, std::uint32_t items, std::uint64_t seed);
  /// Writes over integers. Throws as `add` does.
  void replace(const NodeType& type, std::uint32_t items, std::size_t first,
               std::span<const std::uint32_t> integers);

  /// Forgets numbers from `size` on, which are those of nodes from `nodes` on.
  void truncate(std::size_t size, std::size_t nodes);

 private:
  const IntegersAt* find_later(NodeId node) const;

  FlatArray<std::uint32_t> words_;
  std::vector<std::pair<NodeId, IntegersAt>> later_;  ///< by ascending nodes
};

/// Where an input's values lie: in the memory of the tape, or at a place of the user that is read
/// when it runs.
struct InputData {
  const void* data = nullptr;
  const float* place = nullptr;
  const std::vector<float>* vector = nullptr;
  std::size_t size = 0;

  /// The user's values. Throws ShapeError if the vector has another size by now.
  const float* values_now() const;
};

/// What a node of a recursion runs along, and the number of its first random node.
struct RecordedRecursion {
  NodeId node = 0;
  std::shared_ptr<const Vertices> vertices;
  std::uint32_t first_random = 0;
};

/// The record of one sample, which a TapeWriter makes. It knows no values and no device.
class Tape {
 public:
  std::unordered_map<NodeId, std::string> labels;
  CallStacks calls;  ///< that recorded nodes, if they were noted
  RandomNodes random;

  Tape(std::shared_ptr<TypeTable> types, TypeCache& cache, DType dtype)
      : types_(std::move(types)), cache_(&cache), dtype_(dtype) {}

  const TypeTable& types() const { return *types_; }
  const std::shared_ptr<TypeTable>& shared_types() const { return types_; }
  TypeCache& cache() const { return *cache_; }
  /// Who uses it, or another tape that is recorded with the same cache.
  OneThread& user() const { return cache_->user(); }
  /// From now on another thread records.
  void record_with(TypeCache& cache) { cache_ = &cache; }
  DType dtype() const { return dtype_; }

  std::size_t size() const { return nodes_.size(); }
  /// Nodes, of a recursion its vertices: what the time of a run is about proportional to.
  std::size_t steps() const;
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const NodeType& type_of(NodeId id) const { return (*types_)[nodes_[id].type]; }
  std::span<const ValueId> inputs_of(NodeId id) const {
    return edges().subspan(nodes_[id].first_edge, type_of(id).inputs);
  }
  std::span<const std::uint32_t> integers_of(NodeId id) const;
  /// Reads those that the user was to write before the node runs. Throws UsageError.
  void read_later_integers(NodeId id);
  /// Another seed, also for the random nodes that there are: they draw other numbers.
  void draw_again(std::uint64_t seed);
  /// Real number i of a node, counted over its items.
  double real_of(NodeId id, std::size_t i) const {
    return numbers_.real(nodes_[id].first_number + integers_of(id).size() + 2 * i);
  }
  std::span<const ValueId> edges() const { return edges_; }
  /// How many items a node has. Most samples have no node with several.
  std::uint32_t items_of(NodeId id) const {
    return has_minibatches_ ? values_[nodes_[id].value].items : 1;
  }

  /// How many values no node and no view reads; more than there are, if that is not known any more.
  /// If no others than these are asked for, all nodes are needed.
  std::size_t unread_values() const { return unread_; }

  std::span<const Value> values() const { return values_; }
  const Value& value(ValueId id) const { return values_[id]; }
  const Shape& shape_of(ValueId id) const { return types_->shape(values_[id].shape); }
  /// With the minibatch dimension.
  Dim dim_of(ValueId id) const;
  bool is_contiguous(ValueId id) const {
    return values_[id].items == 1 || values_[id].stride == shape_of(id).size;
  }

  /// The nodes of ops that are computed once for all tapes.
  std::span<const NodeId> shared_nodes() const { return shared_nodes_; }

  // What a source stands for.
  const InputData& input_of(NodeId id) const { return inputs_[numbers_[nodes_[id].first_number]]; }
  ParameterStorage& storage_of(NodeId id) const { return *shared_storage_of(id); }
  const std::shared_ptr<ParameterStorage>& shared_storage_of(NodeId id) const {
    return types_->shared_storage(numbers_[nodes_[id].first_number]);
  }
  const RecordedRecursion& recursion_of(NodeId id) const {
    return recursions_[numbers_[nodes_[id].first_number]];
  }

 private:
  friend class TapeWriter;

  std::shared_ptr<TypeTable> types_;
  TypeCache* cache_;
  DType dtype_;

  FlatArray<Node> nodes_;
  FlatArray<Value> values_;
  FlatArray<ValueId> edges_;
  NodeNumbers numbers_;
  std::vector<NodeId> shared_nodes_;
  std::vector<InputData> inputs_;
  std::vector<RecordedRecursion> recursions_;
  std::size_t unread_ = 0;        ///< values
  bool has_minibatches_ = false;  ///< or had, before something was reverted
};

/// The label of a node, or an empty string.
const std::string& label_of(const Tape& tape, NodeId node);
/// The label of a node, or the name of the parameter that it is, or a row of.
const std::string& name_of(const Tape& tape, NodeId node);
/// What a message adds on these values, ", where "W" is {3,4}, "h" is {5}": those with a name.
std::string labels_of(const Tape& tape, std::span<const ValueId> values);

/// f(), whose errors say which labels the values have. Labels are looked up then only.
template <class F>
decltype(auto) with_labels(const Tape& tape, std::span<const ValueId> values, const F& f) {
  try {
    return f();
  } catch (const ShapeError& error) {
    throw ShapeError(error.what() + labels_of(tape, values));
  } catch (const UsageError& error) {
    throw UsageError(error.what() + labels_of(tape, values));
  }
}

inline void Tape::read_later_integers(NodeId id) {
  const IntegersAt* const later = numbers_.later(id);
  if (later == nullptr) return;
  with_labels(*this, inputs_of(id), [&] {
    numbers_.replace(type_of(id), items_of(id), nodes_[id].first_number, later->now());
  });
}

}  // namespace dynet_like::detail
