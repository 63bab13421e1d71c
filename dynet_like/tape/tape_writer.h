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

/// What all nodes of a recursion read in one tape, and their type.
struct SharedInputs {
  static constexpr TypeId kNoType = ~TypeId{0};

  std::shared_ptr<const Op> op;
  std::uint64_t frozen = 0;  ///< bits that say which parameters were, when they were recorded
  std::vector<ValueId> values;
  std::size_t end = 0;  ///< values of the tape, then
  TypeId type = kNoType;
};

/// Adds nodes and views to a tape of its own, and forgets them.
class TapeWriter {
 public:
  /// How much was recorded, to return to.
  struct Mark {
    std::size_t nodes = 0, edges = 0, values = 0, numbers = 0, inputs = 0;
    std::uint32_t random_nodes = 0;
    Arena::Mark data;
  };

  /// The cache must be one of the table, and outlive the tape or be replaced.
  TapeWriter(std::shared_ptr<TypeTable> types, TypeCache& cache, DType dtype)
      : tape_(std::move(types), cache, dtype) {}

  Tape& tape() { return tape_; }

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
  /// The same as one node, whether or not its inputs have columns that could be items.
  ValueId add_one(const OpCall& call);

  /// Sources. An input's `values` are copied; those at a place are read when it runs.
  ValueId add_input(const Dim& dim, std::span<const float> values);
  ValueId add_input_at(const Dim& dim, InputData input);
  /// A constant number, or random numbers of a distribution with these parameters.
  ValueId add_source(const Op& op, const Dim& dim, std::span<const double> reals);
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
  /// An op that the tape may have nodes of: it lives until the tape is cleared, at least.
  void keep(const std::shared_ptr<const Op>& op);

  /// A view: a copy of a value with another offset, shape or number of items, which must lie in it.
  ValueId add_view(const Value& view) {
    tape_.values_.push_back(view);
    const auto id = static_cast<ValueId>(tape_.values_.size() - 1);
    tape_.values_[id].is_read = false;
    ++tape_.unread_;
    note_read(tape_.nodes_[view.node].value);
    if (view.identity != 0) identify_view(id);
    return id;
  }
  /// A value counts as read by a node or view of it, and if another one is to be read instead.
  void note_read(ValueId id) {
    Value& value = tape_.values_[id];
    tape_.unread_ -= value.is_read ? 0 : 1;
    value.is_read = true;
  }

  Mark mark() const;
  /// Forgets what was recorded after the mark.
  void revert(const Mark& mark);

 private:
  static constexpr ValueId kNoValue = ~ValueId{0};

  /// The node, if it has one item and this type, or a type that was expected; else kNoValue.
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
  ValueId add_new_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant);
  void identify(ValueId id);
  void identify_view(ValueId id);

  Tape tape_;
  KnownParameters parameters_;
  std::unordered_map<ValueId, std::uint32_t> own_arguments_;
  std::vector<SharedInputs> shared_inputs_;
  std::vector<const Op*> kept_ops_;
  Arena data_;  ///< of inputs
  bool records_function_ = false;
  std::vector<InputKey> keys_;        ///< of the node that is being recorded
  std::vector<std::uint64_t> words_;  ///< the key of its identity
};

}  // namespace dynet_like::detail
