// The tape: what recording writes, as flat arrays of nodes, edges, values and numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/ops/integers_at.h"
#include "dynet_like/tape/call_stacks.h"
#include "dynet_like/tape/flat_array.h"
#include "dynet_like/tape/known_parameters.h"
#include "dynet_like/tape/type_cache.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

using ValueId = std::uint32_t;

/// An operation that was recorded. How many inputs and numbers it has follows from its type.
struct Node {
  TypeId type = 0;
  std::uint32_t first_edge = 0;    ///< into edges(): its inputs, as values
  std::uint32_t first_number = 0;  ///< into numbers(): its integers, then its reals
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
};

/// The numbers of a node: for every item as many as the op wants, or once for all.
struct Numbers {
  std::span<const std::uint32_t> integers = {};
  std::span<const double> reals = {};
  IntegersAt later = {};  ///< instead of integers: those that will be there when the node runs
};

/// How many items the numbers are for.
std::uint32_t items_of_numbers(const Op& op, unsigned integers, const Numbers& numbers);

/// Where an input's values lie: in the tape, or at a place of the user that is read when it runs.
struct InputData {
  const void* data = nullptr;
  const float* place = nullptr;
  const std::vector<float>* vector = nullptr;
  std::size_t size = 0;

  /// The user's values. Throws ShapeError if the vector has another size by now.
  const float* values_now() const;
};

/// What all nodes of a recursion read in one tape, and their type.
struct SharedInputs {
  static constexpr TypeId kNoType = ~TypeId{0};

  std::shared_ptr<const Op> op;
  std::uint64_t frozen = 0;  ///< bits that say which parameters were, when they were recorded
  std::vector<ValueId> values;
  std::size_t end = 0;  ///< values of the tape, then
  TypeId type = kNoType;
};

/// What a node of a recursion runs along, and the number of its first random node.
struct RecordedRecursion {
  NodeId node = 0;
  std::shared_ptr<const Vertices> vertices;
  std::uint32_t first_random = 0;
};

/// The record of one sample. It knows no values and no device.
class Tape {
 public:
  /// How much was recorded, to return to.
  struct Mark {
    std::size_t nodes = 0, edges = 0, values = 0, numbers = 0, inputs = 0;
    std::uint32_t random_nodes = 0;
    Arena::Mark data;
  };

  /// The cache must be one of the table, and outlive the tape or be replaced.
  Tape(std::shared_ptr<TypeTable> types, TypeCache& cache, std::uint32_t sample, DType dtype)
      : types_(std::move(types)), cache_(&cache), sample_(sample), dtype_(dtype) {}

  /// From now on it records what a function does with any arguments: columns of matrices are no
  /// minibatch elements, so that every node has one item, and no integers are read later.
  void record_function() { records_function_ = true; }

  /// Records an operation. There are as many items as the input with most of them has, or the
  /// numbers are for; inputs with one item serve all. Throws ShapeError, and UsageError for an
  /// integer that is too large.
  ValueId add(const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes = {});
  ValueId add(const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes, const Numbers& numbers);

  /// Sources. An input's `values` are copied; those of `add_input_at` are read when it runs.
  ValueId add_input(const Dim& dim, std::span<const float> values);
  ValueId add_input_at(const Dim& dim, const float* values);
  ValueId add_input_at(const Dim& dim, const std::vector<float>* values);
  ValueId add_constant(const Dim& dim, double number);
  /// Random numbers of a distribution with these parameters.
  ValueId add_random(const Op& distribution, const Dim& dim, std::span<const double> parameters);
  /// A parameter or a table: one node per tape. A constant one has no gradient.
  ValueId add_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant) {
    const ValueId known = parameters_.find(parameter.get(), constant);
    return known != KnownParameters::kNone ? known : add_new_parameter(parameter, constant);
  }

  /// A recursion: as many items as there are vertices, of which every one has its states. Vertices
  /// read the columns of `inputs`.
  ValueId add_recursion(SharedInputs& shared, std::span<const ValueId> inputs,
                        std::uint32_t state_size, std::uint32_t most_random,
                        const std::shared_ptr<const Vertices>& vertices);
  /// The shared inputs of an op, if they were recorded; null if not.
  SharedInputs* find_shared_inputs(const Op* op, std::uint64_t frozen);
  SharedInputs& keep_shared_inputs(const std::shared_ptr<const Op>& op, std::uint64_t frozen,
                                   std::vector<ValueId> values);
  /// An op that the tape may have nodes of: once kept, it lives until the tape is cleared, at
  /// least.
  bool keeps(const Op* op) const { return std::ranges::find(kept_ops_, op) != kept_ops_.end(); }
  void keep(const std::shared_ptr<const Op>& op);
  const RecordedRecursion& recursion_of(NodeId id) const {
    return recursions_[numbers_[nodes_[id].first_number]];
  }

  /// A view: a copy of a value with another offset, shape or number of items, which must lie in it.
  ValueId add_view(const Value& view) {
    values_.push_back(view);
    const auto id = static_cast<ValueId>(values_.size() - 1);
    values_[id].is_read = false;
    ++unread_;
    note_read(values_[nodes_[view.node].value]);
    if (view.identity != 0) identify_view(id);
    return id;
  }

  /// Whether they are the same elements in the same shape, with the same gradient.
  static bool is_same_stretch(const Value& a, const Value& b) {
    return a.node == b.node && a.offset == b.offset && a.shape == b.shape && a.items == b.items &&
           (a.items == 1 || a.stride == b.stride) && a.identity == b.identity &&
           a.blocks_gradient == b.blocks_gradient;
  }
  /// `other`, which is to be read in place of `id`: that counts as read, too.
  ValueId read_as(ValueId id, ValueId other) {
    note_read(values_[id]);
    return other;
  }

  const TypeTable& types() const { return *types_; }
  const std::shared_ptr<TypeTable>& shared_types() const { return types_; }
  TypeCache& cache() { return *cache_; }
  /// Who uses it, or another tape that is recorded with the same cache.
  OneThread& user() const { return cache_->user(); }
  /// From now on another thread records.
  void record_with(TypeCache& cache) { cache_ = &cache; }
  /// Its number, for random nodes; to be set before anything is recorded.
  std::uint32_t sample() const { return sample_; }
  void set_sample(std::uint32_t sample) { sample_ = sample; }
  DType dtype() const { return dtype_; }

  std::size_t size() const { return nodes_.size(); }
  /// Nodes, of a recursion its vertices: what the time of a run is about proportional to.
  std::size_t steps() const { return nodes_.size() + vertices_; }
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const NodeType& type_of(NodeId id) const { return (*types_)[nodes_[id].type]; }
  std::span<const ValueId> inputs_of(NodeId id) const {
    return edges().subspan(nodes_[id].first_edge, type_of(id).inputs);
  }
  std::span<const std::uint32_t> integers_of(NodeId id) const;
  /// Reads those that the user was to write before the node runs. Throws UsageError.
  void read_later_integers(NodeId id) {
    if (!later_integers_.empty()) read_later(id);
  }
  /// Real number i of a node, counted over its items.
  double real_of(NodeId id, std::size_t i) const;
  std::span<const ValueId> edges() const { return edges_; }
  /// How many items a node has. Most samples have no node with several.
  std::uint32_t items_of(NodeId id) const {
    return has_minibatches_ ? values_[nodes_[id].value].items : 1;
  }

  /// How many values no node and no view reads; more than there are, if that is not known any more.
  /// If no others than these are asked for, all nodes are needed.
  std::size_t unread_values() const { return knows_unread_ ? unread_ : values_.size() + 1; }

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

  const InputData& input_of(NodeId id) const { return inputs_[numbers_[nodes_[id].first_number]]; }
  ParameterStorage& storage_of(NodeId id) const {
    return types_->storage(numbers_[nodes_[id].first_number]);
  }

  const std::shared_ptr<ParameterStorage>& shared_storage_of(NodeId id) const {
    return types_->shared_storage(numbers_[nodes_[id].first_number]);
  }

  void set_label(NodeId id, std::string label) { labels_[id] = std::move(label); }
  /// The label of a node, or an empty string.
  const std::string& label_of(NodeId id) const;
  /// What people know a node by: its label, or the name of the parameter that it is, or a row of.
  const std::string& name_of(NodeId id) const;
  /// What a message adds on these values, ", where "W" is {3,4}, "h" is {5}": those with a name.
  std::string labels_of(std::span<const ValueId> values) const;

  /// What is recorded until the next time belongs to the call that this is called in.
  void note_call() { calls_.note(static_cast<NodeId>(nodes_.size())); }
  /// The call that recorded a node, if calls were noted, or null.
  const CallStack* call_of(NodeId id) const { return calls_.find(id); }

  /// How many random nodes there are, and were; nodes to come are counted from there.
  std::uint32_t random_nodes() const { return random_nodes_; }
  void count_random_nodes_from(std::uint32_t count) { random_nodes_ = count; }

  Mark mark() const;
  /// From now on, nodes recorded before and after this are not run as one, so that either may be
  /// forgotten alone.
  void note_boundary() { boundaries_.push_back(static_cast<NodeId>(nodes_.size())); }
  /// Whether there is a boundary behind node `a` and before or at node `b`.
  bool is_boundary_between(NodeId a, NodeId b) const {
    return !boundaries_.empty() && has_boundary_between(a, b);
  }

  /// Forgets what was recorded after the mark.
  void revert(const Mark& mark);
  void clear() { revert({}); }

 private:
  static constexpr ValueId kNoValue = ~ValueId{0};

  /// The node, if it has one item and this type, or a type that was expected; else kNoValue.
  ValueId add_if(const NodeType& type, const Op& op, std::span<const ValueId> inputs,
                 std::span<const std::uint32_t> attributes, const Numbers* numbers);
  ValueId add_expected(const Op& op, std::span<const ValueId> inputs,
                       std::span<const std::uint32_t> attributes, const Numbers* numbers);
  ValueId add_any(const Op& op, std::span<const ValueId> inputs,
                  std::span<const std::uint32_t> attributes, const Numbers& numbers);
  ValueId add_by_column(const Op& op, std::span<const ValueId> inputs,
                        std::span<const std::uint32_t> attributes, const Numbers& numbers);
  ValueId add_by_element(const Op& op, std::span<const ValueId> inputs,
                         std::span<const std::uint32_t> attributes, const Numbers& numbers,
                         const Dim& result);
  ValueId add_one(const Op& op, std::span<const ValueId> inputs,
                  std::span<const std::uint32_t> attributes, const Numbers& numbers);
  ShapeId open_shape(ShapeId id);
  void note_read(Value& value) {
    unread_ -= value.is_read ? 0 : 1;
    value.is_read = true;
  }
  const NodeType& find_type(std::uint64_t hash, const Op& op, std::span<const ValueId> inputs,
                            std::span<InputKey> keys, std::span<const std::uint32_t> attributes);
  const NodeType& type_of_recursion(const std::shared_ptr<const Op>& op,
                                    std::span<const ValueId> inputs, std::size_t own,
                                    std::uint32_t state_size);
  std::uint32_t own_argument(const Op& op, unsigned input, ValueId id);
  void check_items(const Op& op, std::span<const ValueId> inputs, std::span<InputKey> keys,
                   std::uint32_t items) const;
  void add_numbers(const Op& op, const NodeType& type, std::uint32_t items, const Numbers& numbers);
  ValueId add_with_later_integers(const Op& op, std::span<const ValueId> inputs,
                                  std::span<const std::uint32_t> attributes,
                                  const Numbers& numbers);
  void read_later(NodeId id);
  bool has_boundary_between(NodeId a, NodeId b) const;
  ValueId add_node(const NodeType& type, std::size_t first_number, std::uint32_t items,
                   bool reaches_parameter);
  ValueId add_source(const NodeType& type, std::uint32_t items, std::uint32_t number);
  ValueId add_new_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant);
  void identify(ValueId value);
  void identify_view(ValueId value);

  std::shared_ptr<TypeTable> types_;
  TypeCache* cache_;
  std::uint32_t sample_;
  DType dtype_;

  FlatArray<Node> nodes_;
  FlatArray<Value> values_;
  FlatArray<ValueId> edges_;
  FlatArray<std::uint32_t> numbers_;
  std::vector<NodeId> shared_nodes_;
  std::vector<NodeId> boundaries_;  ///< the first nodes behind them, in ascending order
  std::vector<std::pair<NodeId, IntegersAt>> later_integers_;

  std::vector<InputData> inputs_;
  std::vector<RecordedRecursion> recursions_;
  std::vector<SharedInputs> shared_inputs_;
  std::vector<const Op*> kept_ops_;
  std::size_t vertices_ = 0;  ///< of recursions
  Arena data_;
  KnownParameters parameters_;
  std::unordered_map<ValueId, std::uint32_t> unique_arguments_;
  std::unordered_map<NodeId, std::string> labels_;
  CallStacks calls_;
  std::uint32_t random_nodes_ = 0;
  std::size_t unread_ = 0;        ///< values
  bool knows_unread_ = true;      ///< nothing was reverted
  bool has_minibatches_ = false;  ///< or had, before something was reverted
  bool records_function_ = false;
  std::vector<InputKey> input_keys_;  ///< of the node that is being recorded
  std::vector<std::uint64_t> words_;  ///< the key of its identity
};

}  // namespace dynet_like::detail
