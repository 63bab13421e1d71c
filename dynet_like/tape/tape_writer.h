// Records operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/tape/known_parameters.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

/// The shared inputs of nodes of a recursion in one tape, and their type.
struct SharedInputs {
  static constexpr TypeId kNoType = ~TypeId{0};

  std::shared_ptr<const Op> op;
  std::vector<bool>
      frozen;  ///< by recipe of the op: whether it is a parameter that was frozen then
  std::vector<ValueId> values;
  std::size_t end = 0;  ///< the number of values in the tape at that time
  TypeId type = kNoType;
};

/// A node of a recursion that is to be recorded.
struct NewRecursion {
  std::span<const ValueId> inputs;  ///< vertices read their columns
  const std::shared_ptr<const Vertices>& vertices;
  std::uint32_t state_size = 0;      ///< of all states of a vertex
  std::vector<std::uint32_t> draws;  ///< by vertex, its random nodes; empty if no vertex has any
  bool reads_parameter = false;      ///< whether a vertex reads a shared input that has a gradient
};

/// Adds nodes and views to its tape, and removes them.
class TapeWriter {
 public:
  /// The size of the tape at some time, to revert to.
  struct Mark {
    std::size_t nodes = 0, edges = 0, values = 0, numbers = 0, inputs = 0;
    std::uint32_t random_nodes = 0;
    Arena::Mark data;
  };

  /// The cache must belong to the table, and outlive the tape or be replaced.
  TapeWriter(std::shared_ptr<TypeTable> types, TypeCache& cache, DType dtype)
      : tape_(std::move(types), cache, dtype) {}

  Tape& tape() { return tape_; }

  /// From now on it records a function of arguments that are not known: columns of matrices do not
  /// become minibatch elements, so that every node has one item, and no integers are read later.
  /// Whether a parameter is frozen may change until a graph calls the function, so it is ignored.
  void record_function() { records_function_ = true; }

  /// Records an operation. The number of items is the largest one of any input or of the numbers;
  /// inputs with one item serve all. Throws ShapeError, and UsageError for too large an integer.
  ValueId add(const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes = {});
  ValueId add(const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes, const Numbers& numbers);
  /// The same, always as one node: columns of inputs do not become items.
  ValueId add_one(const OpCall& call);

  /// Sources. An input's `values` are copied; those in the user's memory are read when it runs.
  ValueId add_input(const Dim& dim, std::span<const float> values);
  ValueId add_input_at(const Dim& dim, InputData input);
  /// A constant, or random numbers of a distribution; `reals` are its parameters.
  ValueId add_source(const Op& op, const Dim& dim, std::span<const double> reals);
  /// A parameter or a table: one node per tape. A constant or frozen one has no gradient.
  ValueId add_parameter(ParameterStorage& parameter, bool constant = false) {
    const bool is_constant = constant || (parameter.frozen && !records_function_);
    const ValueId known = parameters_.find(&parameter, is_constant);
    return known != KnownParameters::kNone ? known : add_new_parameter(parameter, is_constant);
  }

  /// A recursion. It has an item for each vertex, which consists of the vertex's states.
  ValueId add_recursion(SharedInputs& shared, NewRecursion recursion);
  std::span<SharedInputs> shared_inputs() { return shared_inputs_; }
  SharedInputs& keep(SharedInputs shared);
  /// Keeps an op alive at least until the tape is cleared.
  void keep(const std::shared_ptr<const Op>& op);

  /// Adds a view: a copy of a value with another offset, shape or number of items inside it.
  ValueId add_view(const Value& view) {
    tape_.values_.push_back(view);
    const auto id = static_cast<ValueId>(tape_.values_.size() - 1);
    tape_.values_[id].is_read = false;
    tape_.values_[id].is_view = true;
    ++tape_.unread_;
    note_read(tape_.nodes_[view.node].value);
    if (view.identity != 0) identify_view(id);
    return id;
  }
  /// Call this when a node or a view reads a value, or when another value is read in its place.
  void note_read(ValueId id) {
    Value& value = tape_.values_[id];
    tape_.unread_ -= value.is_read ? 0 : 1;
    value.is_read = true;
  }

  Mark mark() const;
  /// Removes what was recorded after the mark.
  void revert(const Mark& mark);

 private:
  static constexpr ValueId kNoValue = ~ValueId{0};

  /// Adds the node if it has one item and this type, or an expected type; else kNoValue.
  ValueId add_if(const NodeType& type, const Op& op, std::span<const ValueId> inputs,
                 std::span<const std::uint32_t> attributes, const Numbers* numbers);
  ValueId add_expected(const Op& op, std::span<const ValueId> inputs,
                       std::span<const std::uint32_t> attributes, const Numbers* numbers);
  ValueId add_any(const OpCall& call);
  ValueId add_with_later_integers(const OpCall& call);
  const NodeType& infer_type(const OpCall& call, std::uint32_t items);
  const NodeType& find_type(std::uint64_t hash, const OpCall& call, std::span<InputKey> keys);
  std::uint32_t own_argument(const OpCall& call, unsigned input);
  ValueId add_node(const NodeType& type, std::size_t first_number, std::uint32_t items,
                   bool reaches_parameter);
  ValueId add_numbered(const NodeType& type, std::uint32_t items, std::size_t number);
  ValueId add_new_parameter(ParameterStorage& parameter, bool constant);
  void identify(ValueId id);
  void identify_view(ValueId id);

  Tape tape_;
  KnownParameters parameters_;
  std::unordered_map<ValueId, std::uint32_t> own_arguments_;
  std::vector<SharedInputs> shared_inputs_;
  std::vector<const Op*> kept_ops_;
  Arena data_;  ///< the values of inputs
  bool records_function_ = false;
  std::vector<InputKey> keys_;        ///< of the node that is being recorded
  std::vector<std::uint64_t> words_;  ///< the key of the node's identity
};

}  // namespace dynet_like::detail
