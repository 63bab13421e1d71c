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

/// A recorded operation. Its type determines how many inputs and numbers it has.
struct Node {
  TypeId type = 0;
  std::uint32_t first_edge = 0;    ///< index in edges() of its first input
  std::uint32_t first_number = 0;  ///< index among the NodeNumbers
  ValueId value = 0;               ///< the whole output
};

/// The part of a node's output that an edge refers to. Item i begins at offset + i * stride
/// elements. A view is a value that needs no node of its own.
struct alignas(32) Value {
  NodeId node = 0;
  std::uint32_t offset = 0;
  ShapeId shape = 0;      ///< of one item
  Identity identity = 0;  ///< not 0: depends on parameters and constants alone
  std::uint32_t items = 1;
  std::uint32_t stride = 0;
  /// Whether a parameter is among the value's ancestors, and whether gradients stop here.
  bool reaches_parameter = false, blocks_gradient = false;
  bool is_read = false;  ///< by a node or by a view of it; stays set after reverting
  bool is_view = false;  ///< it may be a part of the output

  /// Whether both are the same elements in the same shape, with the same gradient.
  bool is_same_stretch(const Value& b) const {
    return node == b.node && offset == b.offset && shape == b.shape && items == b.items &&
           (items == 1 || stride == b.stride) && identity == b.identity &&
           blocks_gradient == b.blocks_gradient;
  }
};

/// The numbers of a node: for every item as many as the op needs, or once for all items.
struct Numbers {
  std::span<const std::uint32_t> integers = {};
  std::span<const double> reals = {};
  IntegersAt later = {};  ///< replaces `integers`: integers that are read when the node runs

  bool are_given() const { return !integers.empty() || !reals.empty(); }
};

/// An op and its arguments.
struct OpCall {
  const Op& op;
  std::span<const ValueId> inputs;
  std::span<const std::uint32_t> attributes;
  Numbers numbers;

  /// The number of integers of an item.
  unsigned integers() const { return op.integers(attributes); }
  /// The number of items that the numbers are for.
  std::uint32_t items_of_numbers() const {
    std::size_t items = 1;
    if (integers() > 0 && !op.numbers.random) items = numbers.integers.size() / integers();
    if (op.numbers.reals > 0) items = std::max(items, numbers.reals.size() / op.numbers.reals);
    return static_cast<std::uint32_t>(items);
  }
};

/// The source of the random numbers of a tape.
struct RandomNodes {
  std::optional<std::uint64_t> seed = {};  ///< set before a random node is recorded
  std::uint32_t count = 0;                 ///< of all random nodes so far

  /// Throws UsageError, for `user`, if there is no seed.
  std::uint64_t seed_for(std::string_view user) const;
};

/// The numbers of all nodes: for each node its integers, item by item, and then its reals. An
/// input, a parameter or a recursion instead has one number: its index among its kind.
class NodeNumbers {
 public:
  std::size_t size() const { return words_.size(); }
  std::span<const std::uint32_t> from(std::size_t first) const {
    return std::span<const std::uint32_t>(words_).subspan(first);
  }
  std::uint32_t operator[](std::size_t place) const { return words_[place]; }
  /// The real number at this index.
  double real(std::size_t place) const;

  void add(std::uint32_t number) { words_.push_back(number); }
  /// Adds the numbers of a node. Throws UsageError if their number does not match the type, or if
  /// an integer is too large.
  void add(const NodeType& type, std::uint32_t items, const Numbers& numbers, RandomNodes& random);

  /// Notes that the integers of this node are read when it runs. Nodes must come in order.
  void note_later(NodeId node, const IntegersAt& integers) { later_.push_back({node, integers}); }
  /// Where the integers of a node are to be read, or null.
  const IntegersAt* later(NodeId node) const { return later_.empty() ? nullptr : find_later(node); }
  /// Overwrites the seed of a random node's items.
  void set_seed(std::size_t first, std::uint32_t items, std::uint64_t seed);
  /// Overwrites integers. Throws like `add`.
  void replace(const NodeType& type, std::uint32_t items, std::size_t first,
               std::span<const std::uint32_t> integers);

  /// Removes the numbers from `size` on, which belong to the nodes from `nodes` on.
  void truncate(std::size_t size, std::size_t nodes);

 private:
  const IntegersAt* find_later(NodeId node) const;

  FlatArray<std::uint32_t> words_;
  std::vector<std::pair<NodeId, IntegersAt>> later_;  ///< by ascending nodes
};

/// Where an input's values lie: in memory of the tape, or in memory of the user that is read when
/// the input runs.
struct InputData {
  const void* data = nullptr;
  const float* place = nullptr;
  const std::vector<float>* vector = nullptr;
  std::size_t size = 0;

  /// The user's values. Throws ShapeError if the size of the vector has changed.
  const float* values_now() const;
};

/// The structure of a recursion's node, and its random nodes.
struct RecordedRecursion {
  NodeId node = 0;
  std::shared_ptr<const Vertices> vertices;
  /// By vertex, the number of its first random node; empty if no vertex has any. These are the
  /// numbers that the nodes have if the function is called vertex by vertex, predecessors first.
  std::vector<std::uint32_t> first_random;
};

/// The record of one sample, written by a TapeWriter. It contains no values, and knows no device.
class Tape {
 public:
  std::unordered_map<NodeId, std::string> labels;
  CallStacks calls;  ///< the calls that recorded nodes, if requested
  RandomNodes random;

  Tape(std::shared_ptr<TypeTable> types, TypeCache& cache, DType dtype)
      : types_(std::move(types)), cache_(&cache), dtype_(dtype) {}

  const TypeTable& types() const { return *types_; }
  const std::shared_ptr<TypeTable>& shared_types() const { return types_; }
  TypeCache& cache() const { return *cache_; }
  /// The lock on this tape, and on others that are recorded with the same cache.
  OneThread& user() const { return cache_->user(); }
  /// From now on another thread, whose cache this is, records the tape.
  void record_with(TypeCache& cache) { cache_ = &cache; }
  DType dtype() const { return dtype_; }

  std::size_t size() const { return nodes_.size(); }
  /// The number of nodes, or vertices of recursions. The time of a run is about proportional to it.
  std::size_t work() const;
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const NodeType& type_of(NodeId id) const { return (*types_)[nodes_[id].type]; }
  std::span<const ValueId> inputs_of(NodeId id) const {
    return edges().subspan(nodes_[id].first_edge, type_of(id).inputs);
  }
  std::span<const std::uint32_t> integers_of(NodeId id) const;
  /// Reads integers that the user had to write before the node runs. Throws UsageError.
  void read_later_integers(NodeId id);
  /// Another seed, also for the random nodes that there are: they draw other numbers.
  void draw_again(std::uint64_t seed);
  /// Real number i of a node, counted over its items.
  double real_of(NodeId id, std::size_t i) const {
    return numbers_.real(nodes_[id].first_number + integers_of(id).size() + 2 * i);
  }
  std::span<const ValueId> edges() const { return edges_; }
  /// The number of items of a node. In most samples all nodes have one.
  std::uint32_t items_of(NodeId id) const {
    return has_minibatches_ ? values_[nodes_[id].value].items : 1;
  }

  /// The number of values that no node and no view reads, or a very large number if it is unknown.
  /// If only these values are asked for, all nodes are needed.
  std::size_t unread_values() const { return unread_; }

  std::span<const Value> values() const { return values_; }
  const Value& value(ValueId id) const { return values_[id]; }
  const Shape& shape_of(ValueId id) const { return types_->shape(values_[id].shape); }
  /// The shape including the minibatch dimension.
  Dim dim_of(ValueId id) const;
  bool is_contiguous(ValueId id) const {
    return values_[id].items == 1 || values_[id].stride == shape_of(id).size;
  }

  /// The nodes of ops that are computed once for all tapes.
  std::span<const NodeId> shared_nodes() const { return shared_nodes_; }

  // The data of sources.
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
  bool has_minibatches_ = false;  ///< also true after they were reverted
};

/// The label of a node, or an empty string.
const std::string& label_of(const Tape& tape, NodeId node);
/// The label of a node, or the name of the parameter that it is or reads a row of.
const std::string& name_of(const Tape& tape, NodeId node);
/// The end of a message about these values, ", where "W" is {3,4}, "h" is {5}": those with a name.
std::string labels_of(const Tape& tape, std::span<const ValueId> values);

/// Calls f(). Adds the labels of these values to its errors; labels are looked up only then.
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
