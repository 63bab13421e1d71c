// The tape: what recording writes, as flat arrays of nodes, edges, values and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/tape/type_table.h"

namespace dynet_like {

using NodeId = std::uint32_t;
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
struct Value {
  NodeId node = 0;
  std::uint32_t offset = 0;
  ShapeId shape = 0;  ///< of one item
  std::uint32_t items = 1;
  std::uint32_t stride = 0;
  Identity identity = 0;  ///< not 0: depends on parameters and constants alone
  /// Whether a parameter can be reached from here, and whether gradients stop here.
  bool reaches_parameter = false, blocks_gradient = false;
};

/// Where an input's values lie: in the tape, or at a place of the user that is read when it runs.
struct InputData {
  const void* data = nullptr;
  const float* place = nullptr;
  const std::vector<float>* vector = nullptr;
  std::size_t size = 0;

  /// The user's values. Throws ShapeError if the vector has another size by now.
  const float* values_now() const;
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

  Tape(std::shared_ptr<TypeTable> types, std::uint32_t sample, DType dtype)
      : types_(std::move(types)), sample_(sample), dtype_(dtype) {}

  /// Records an operation. There are as many items as the input with most of them has, or the
  /// numbers are for; inputs with one item serve all. Throws ShapeError, and UsageError for an
  /// integer that is too large.
  ValueId add(const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes = {},
              std::span<const std::uint32_t> integers = {}, std::span<const double> reals = {});

  /// Sources. An input's `values` are copied; those of `add_input_at` are read when it runs.
  ValueId add_input(const Dim& dim, std::span<const float> values);
  ValueId add_input_at(const Dim& dim, const float* values);
  ValueId add_input_at(const Dim& dim, const std::vector<float>* values);
  ValueId add_constant(const Dim& dim, double number);
  /// A parameter or a table: one node per tape. A constant one has no gradient.
  ValueId add_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant);

  /// A view of a value. Throws ShapeError if it does not lie in the value.
  ValueId add_view(ValueId base, const Value& view);

  const TypeTable& types() const { return *types_; }
  TypeTable& types() { return *types_; }
  std::uint32_t sample() const { return sample_; }
  DType dtype() const { return dtype_; }

  std::size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const NodeType& type_of(NodeId id) const { return (*types_)[nodes_[id].type]; }
  std::span<const ValueId> inputs_of(NodeId id) const {
    return std::span(edges_).subspan(nodes_[id].first_edge, type_of(id).inputs);
  }
  std::span<const std::uint32_t> integers_of(NodeId id) const;
  /// Real number i of a node, counted over its items.
  double real_of(NodeId id, std::size_t i) const;
  const std::vector<ValueId>& edges() const { return edges_; }

  std::size_t value_count() const { return values_.size(); }
  const Value& value(ValueId id) const { return values_[id]; }
  const Shape& shape_of(ValueId id) const { return types_->shape(values_[id].shape); }
  /// With the minibatch dimension.
  Dim dim_of(ValueId id) const;
  bool is_contiguous(ValueId id) const {
    return values_[id].items == 1 || values_[id].stride == shape_of(id).size;
  }

  const InputData& input_of(NodeId id) const { return inputs_[numbers_[nodes_[id].first_number]]; }
  ParameterStorage& storage_of(NodeId id) const {
    return types_->storage(numbers_[nodes_[id].first_number]);
  }

  void set_label(NodeId id, std::string label) { labels_[id] = std::move(label); }
  /// The label of a node, or an empty string.
  const std::string& label_of(NodeId id) const;

  Mark mark() const;
  /// Forgets what was recorded after the mark.
  void revert(const Mark& mark);
  void clear() { revert({}); }

 private:
  struct KnownParameter {
    const ParameterStorage* storage = nullptr;
    ValueId value[2] = {};  ///< value + 1, by constancy; 0: none yet
  };

  ValueId add_source(const Op& op, const Dim& dim, std::uint32_t number, DType dtype);
  ValueId add_output(TypeId type, std::uint32_t items);
  void add_numbers(const Op& op, const NodeType& type, std::uint32_t items,
                   std::span<const std::uint32_t> integers, std::span<const double> reals);
  void identify(ValueId value);
  std::uint32_t argument_mark(const Op& op, unsigned input, ValueId id,
                              std::span<const std::uint32_t> attributes);
  KnownParameter& known(const ParameterStorage& storage);

  std::shared_ptr<TypeTable> types_;
  std::uint32_t sample_;
  DType dtype_;

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> edges_;
  std::vector<std::uint32_t> numbers_;

  std::vector<InputData> inputs_;
  Arena data_;
  std::vector<KnownParameter> known_parameters_;
  std::unordered_map<ValueId, std::uint32_t> unique_arguments_;
  std::unordered_map<NodeId, std::string> labels_;
  std::uint32_t random_nodes_ = 0;
  std::vector<InputKey> input_keys_;
};

}  // namespace dynet_like
