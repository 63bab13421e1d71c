// Recording: nodes, sources, recursions and identities.
#include "dynet_like/tape/tape_writer.h"

#include <algorithm>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/columns.h"

namespace dynet_like::detail {

namespace {

// Whether the numbers are given now, and for one item.
bool are_of_one_item(const NodeType& type, const Numbers& numbers) {
  if (!type.has_numbers) return !numbers.are_given();
  return !type.op->numbers.random && !numbers.later.given() &&
         numbers.integers.size() == type.signature.integers &&
         numbers.reals.size() == type.op->numbers.reals;
}

void check_size(Dim item, std::uint32_t items) {  // offsets and strides have 32 bits
  item.bd = items;
  item.check();
}

// The key of this value as an input. An open input's shape does not contain its number of columns.
InputKey key_of(const Tape& tape, const Op& op, std::size_t input, const Value& value) {
  if (!op.is_open(static_cast<unsigned>(input))) return input_key(value.shape, value.identity);
  Shape shape = tape.types().shape(value.shape);
  if (shape.dim.nd > 0) shape.dim.d[shape.dim.nd - 1] = 0;
  return input_key(tape.cache().shape(shape.dim, shape.dtype), value.identity);
}

// An input with one item serves all items. An input with several items cannot be a shared argument.
void check_items(const Tape& tape, const OpCall& call, std::span<InputKey> keys,
                 std::uint32_t items) {
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const std::uint32_t have = tape.value(call.inputs[j]).items;
    if (have != 1) keys[j] = input_key(shape_of(keys[j]), 0);
    if (have == 1 || have == items) continue;
    std::vector<Dim> dims;
    for (ValueId input : call.inputs) dims.push_back(tape.dim_of(input));
    throw_shape_error(call.op.name, "minibatches of one size, or of 1", dims);
  }
}

}  // namespace

// The edges are in reserved room already. If memory runs out, nothing is added.
inline ValueId TapeWriter::add_node(const NodeType& type, std::size_t first_number,
                                    std::uint32_t items, bool reaches_parameter) {
  const auto node = static_cast<NodeId>(tape_.nodes_.size());
  const auto result = static_cast<ValueId>(tape_.values_.size());
  *tape_.values_.reserve(1) = {
      node, 0, type.output_shape, 0, items, type.output_size, reaches_parameter};
  tape_.nodes_.push_back({type.id, static_cast<std::uint32_t>(tape_.edges_.size()),
                          static_cast<std::uint32_t>(first_number), result});
  tape_.values_.commit(1);
  const ValueId* const inputs = tape_.edges_.data() + tape_.edges_.size();
  for (std::uint32_t j = 0; j < type.inputs; ++j) note_read(inputs[j]);
  tape_.edges_.commit(type.inputs);
  ++tape_.unread_;
  tape_.has_minibatches_ |= items > 1;
  return result;
}

ValueId TapeWriter::add(const Op& op, std::span<const ValueId> inputs,
                        std::span<const std::uint32_t> attributes) {
  const ValueId expected = add_expected(op, inputs, attributes, nullptr);
  return expected != kNoValue ? expected : add_any({op, inputs, attributes, {}});
}

ValueId TapeWriter::add(const Op& op, std::span<const ValueId> inputs,
                        std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  const ValueId expected = add_expected(op, inputs, attributes, &numbers);
  return expected != kNoValue ? expected : add_any({op, inputs, attributes, numbers});
}

inline ValueId TapeWriter::add_expected(const Op& op, std::span<const ValueId> inputs,
                                        std::span<const std::uint32_t> attributes,
                                        const Numbers* numbers) {
  const std::size_t size = tape_.nodes_.size();
  if (size < 2) return kNoValue;
  const TypeCache::Next& next =
      tape_.cache_->types_after(tape_.nodes_[size - 2].type, tape_.nodes_[size - 1].type);
  const ValueId added = add_if(*next.last, op, inputs, attributes, numbers);
  if (added != kNoValue) return added;
  return add_if(*next.before, op, inputs, attributes, numbers);
}

inline ValueId TapeWriter::add_if(const NodeType& type, const Op& op,
                                  std::span<const ValueId> inputs,
                                  std::span<const std::uint32_t> attributes,
                                  const Numbers* numbers) {
  if (type.op != &op || type.inputs != inputs.size()) return kNoValue;
  if (numbers == nullptr ? type.has_numbers : !are_of_one_item(type, *numbers)) return kNoValue;
  if (!std::ranges::equal(type.signature.attributes, attributes)) return kNoValue;
  const Value* const values = tape_.values_.data();
  const InputKey *key = type.keys.data(), *counts = key + inputs.size();
  ValueId* const edges = tape_.edges_.reserve(inputs.size());
  InputKey differences = 0;
  std::uint32_t items = 1;
  bool reaches_parameter = false, all_shared = op.batching.shareable;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const Value& value = values[edges[j] = inputs[j]];
    differences |= (input_key(value.shape, value.identity) & counts[j]) ^ key[j];
    items |= value.items;
    reaches_parameter |= value.reaches_parameter;
    all_shared &= value.identity != 0;
  }
  if (differences != 0 || items != 1 || all_shared) return kNoValue;
  const std::size_t first_number = tape_.numbers_.size();
  if (type.has_numbers) {
    with_labels(tape_, inputs, [&] { tape_.numbers_.add(type, 1, *numbers, tape_.random); });
  }
  return add_node(type, first_number, 1, reaches_parameter);
}

ValueId TapeWriter::add_any(const OpCall& call) {
  if (call.numbers.later.given()) return add_with_later_integers(call);
  if (call.op.batching.by_column != nullptr && !records_function_) {
    if (const std::optional<ValueId> added = add_by_column(*this, call)) return *added;
  }
  return add_one(call);
}

ValueId TapeWriter::add_one(const OpCall& call) {
  const Op& op = call.op;
  ValueId* const edges = tape_.edges_.reserve(call.inputs.size());
  std::uint32_t items = op.has_numbers() ? call.items_of_numbers() : 1;
  bool reaches_parameter = false, all_shared = op.batching.shareable;
  for (std::size_t j = 0; j < call.inputs.size(); ++j) {
    const Value& value = tape_.values_[edges[j] = call.inputs[j]];
    items = std::max(items, value.items);
    reaches_parameter |= value.reaches_parameter;
    all_shared &= value.identity != 0;
  }
  const std::size_t first_number = tape_.numbers_.size();
  const NodeType* type = nullptr;
  with_labels(tape_, call.inputs, [&] {
    if (op.batching.open_inputs != 0) check_open_inputs(tape_, call);
    type = &infer_type(call, items);
    if (items > 1) check_size(type->signature.output, items);
    if (type->has_numbers || call.numbers.are_given()) {
      tape_.numbers_.add(*type, items, call.numbers, tape_.random);
    }
  });
  if (const std::size_t size = tape_.size(); size >= 2 && !type->may_go_by_column) {
    tape_.cache_->note_type_after(tape_.nodes_[size - 2].type, tape_.nodes_[size - 1].type, *type);
  }
  const ValueId result = add_node(*type, first_number, items, reaches_parameter);
  if (all_shared) identify(result);
  return result;
}

const NodeType& TapeWriter::infer_type(const OpCall& call, std::uint32_t items) {
  if (keys_.size() < call.inputs.size()) keys_.resize(call.inputs.size());
  const std::span keys = std::span(keys_).first(call.inputs.size());
  std::uint64_t hash = TypeCache::start_hash(call.op);
  for (std::size_t j = 0; j < keys.size(); ++j) {
    keys[j] = key_of(tape_, call.op, j, tape_.values_[call.inputs[j]]);
    hash = TypeCache::add_to_hash(hash, keys[j]);
  }
  for (std::uint32_t attribute : call.attributes) hash = TypeCache::add_to_hash(hash, attribute);
  if (items > 1) check_items(tape_, call, keys, items);
  const NodeType& recent = tape_.cache_->recent_type(hash);
  return recent.matches(call.op, keys, call.attributes) ? recent : find_type(hash, call, keys);
}

// Turns the keys of values into those of the type: how an input joins decides which parts count.
const NodeType& TapeWriter::find_type(std::uint64_t hash, const OpCall& call,
                                      std::span<InputKey> keys) {
  for (unsigned j = 0; j < keys.size(); ++j) {
    const Join join = call.op.joins(j, call.attributes);
    const ShapeId shape = shape_of(keys[j]);
    if (join == Join::stacked) keys[j] = input_key(shape, 0);
    if (join == Join::shared && argument_of(keys[j]) == 0) {
      keys[j] = input_key(shape, own_argument(call, j));
    }
  }
  try {
    return tape_.cache_->type(hash, call.op, keys, call.attributes);
  } catch (const ShapeError&) {
    if (call.op.batching.open_inputs == 0) throw;
    // The message shall contain the numbers of columns, which the type does not have.
    std::ranges::transform(call.inputs, keys.begin(),
                           [&](ValueId input) { return input_key(tape_.values_[input].shape, 0); });
    tape_.cache_->type(call.op, keys, call.attributes);
    throw;
  }
}

// The number of a graph's own argument that all nodes of a batch must share.
std::uint32_t TapeWriter::own_argument(const OpCall& call, unsigned input) {
  const ValueId id = call.inputs[input];
  if (tape_.values_[id].items > 1) {
    throw_shape_error(call.op.name,
                      "an argument without minibatch at place " + std::to_string(input),
                      std::vector{tape_.dim_of(id)});
  }
  std::uint32_t& argument = own_arguments_[id];
  if (argument == 0) argument = tape_.cache_->unique_argument();
  return argument;
}

// Until the node runs, its integers are zeros. It is never shared, even if all its inputs are, and
// columns do not become minibatch elements: one node reads the integers.
ValueId TapeWriter::add_with_later_integers(const OpCall& call) {
  if (records_function_) {
    throw UsageError(
        "[" + std::string(call.op.name) +
        "] need the integers themselves in a function that is recorded once for all "
        "its calls; got a pointer to integers that are read when the graph runs: make them "
        "an argument of the cell or the kind of the vertex, or call this outside");
  }
  const std::vector<std::uint32_t> zeros(call.numbers.later.size(), 0);
  const Numbers until_then{zeros, call.numbers.reals, {}};
  ValueId result = add_expected(call.op, call.inputs, call.attributes, &until_then);
  if (result == kNoValue) result = add_one({call.op, call.inputs, call.attributes, until_then});
  Value& value = tape_.values_[result];
  tape_.numbers_.note_later(value.node, call.numbers.later);
  if (std::exchange(value.identity, 0) != 0) tape_.shared_nodes_.pop_back();
  return result;
}

// A node of shared inputs only is shared: equal type, inputs and numbers give equal values.
void TapeWriter::identify(ValueId id) {
  Value& value = tape_.values_[id];
  const Node& node = tape_.nodes_[value.node];
  words_ = {static_cast<std::uint64_t>(IdentityKind::node), node.type, value.items};
  for (ValueId input : tape_.inputs_of(value.node)) {
    words_.push_back(tape_.values_[input].identity);
  }
  for (std::uint32_t number : tape_.numbers_.from(node.first_number)) words_.push_back(number);
  const Identity identity = tape_.cache_->identity(words_);
  tape_.shared_nodes_.push_back(value.node);
  value.identity = identity;
}

// Before this call the view has the identity of the value that it views.
void TapeWriter::identify_view(ValueId id) {
  Value& view = tape_.values_[id];
  const std::uint64_t words[] = {static_cast<std::uint64_t>(IdentityKind::view),
                                 view.identity | std::uint64_t{view.offset} << 32,
                                 view.shape | std::uint64_t{view.items} << 32,
                                 view.stride | std::uint64_t{view.blocks_gradient} << 32};
  view.identity = tape_.cache_->identity(words);
}

inline ValueId TapeWriter::add_numbered(const NodeType& type, std::uint32_t items,
                                        std::size_t number) {
  const std::size_t first_number = tape_.numbers_.size();
  tape_.numbers_.add(static_cast<std::uint32_t>(number));
  return add_node(type, first_number, items, false);
}

ValueId TapeWriter::add_input(const Dim& dim, std::span<const float> values) {
  if (values.size() != dim.size()) {
    throw ShapeError("[input] need " + counted(dim.size(), "value") + " for " + to_string(dim) +
                     "; got " + std::to_string(values.size()));
  }
  const DType dtype = tape_.dtype_;
  const NodeType& type = tape_.cache_->source_type(ops::input, dim, dtype);
  void* const data = data_.allocate(values.size() * size_of(dtype));
  if (dtype == DType::f32) {
    std::ranges::copy(values, static_cast<float*>(data));
  } else {
    std::ranges::copy(values, static_cast<double*>(data));
  }
  tape_.inputs_.push_back({.data = data, .size = values.size()});
  return add_numbered(type, dim.bd, tape_.inputs_.size() - 1);
}

ValueId TapeWriter::add_input_at(const Dim& dim, InputData input) {
  if (input.place == nullptr && input.vector == nullptr) {
    throw UsageError("[input] need a place to read from; got a null pointer");
  }
  const NodeType& type = tape_.cache_->source_type(ops::input, dim, tape_.dtype_);
  input.size = dim.size();
  input.values_now();
  tape_.inputs_.push_back(input);
  return add_numbered(type, dim.bd, tape_.inputs_.size() - 1);
}

ValueId TapeWriter::add_source(const Op& op, const Dim& dim, std::span<const double> reals) {
  const NodeType& type = tape_.cache_->source_type(op, dim, tape_.dtype_);
  const std::size_t first_number = tape_.numbers_.size();
  tape_.numbers_.add(type, dim.bd, {{}, reals}, tape_.random);
  const ValueId result = add_node(type, first_number, dim.bd, false);
  if (!op.numbers.random) identify(result);
  return result;
}

ValueId TapeWriter::add_new_parameter(ParameterStorage& parameter, bool constant) {
  const ParameterSource& source = tape_.cache_->parameter(parameter.shared_from_this(), constant);
  const ValueId id = add_numbered(*source.type, parameter.dim.bd, source.storage);
  Value& value = tape_.values_[id];
  value.identity = source.identity[constant];
  value.reaches_parameter = !constant;
  value.blocks_gradient = constant;
  parameters_.add(&parameter, constant, id);
  return id;
}

ValueId TapeWriter::add_recursion(SharedInputs& shared, NewRecursion recursion) {
  const std::span inputs = recursion.inputs;
  const Vertices& vertices = *recursion.vertices;
  const std::span edges(tape_.edges_.reserve(inputs.size() + shared.values.size()),
                        inputs.size() + shared.values.size());
  std::ranges::copy(shared.values, std::ranges::copy(inputs, edges.begin()).out);
  if (shared.type == SharedInputs::kNoType) {
    keep(shared.op);
    // The inputs have the shapes for which the op was made.
    const std::uint32_t attributes[] = {static_cast<std::uint32_t>(inputs.size()),
                                        recursion.state_size,
                                        static_cast<std::uint32_t>(tape_.dtype_)};
    shared.type = infer_type({*shared.op, edges, attributes, {}}, 1).id;
  }
  check_size(Dim({recursion.state_size}), vertices.size());
  const NodeType& type = tape_.types()[shared.type];
  if (!recursion.draws.empty()) tape_.random.seed_for(type.op->name);
  // Predecessors first.
  for (std::uint32_t turn = 0; turn < recursion.draws.size(); ++turn) {
    std::uint32_t& draws = recursion.draws[vertices.vertex_at(turn)];
    draws = std::exchange(tape_.random.count, tape_.random.count + draws);
  }
  tape_.recursions_.push_back(
      {static_cast<NodeId>(tape_.size()), recursion.vertices, std::move(recursion.draws)});
  const ValueId result = add_numbered(type, vertices.size(), tape_.recursions_.size() - 1);
  tape_.values_[result].reaches_parameter =
      recursion.reads_parameter || std::ranges::any_of(inputs, [&](ValueId input) {
        return tape_.values_[input].reaches_parameter;
      });
  return result;
}

void TapeWriter::keep(const std::shared_ptr<const Op>& op) {
  if (std::ranges::find(kept_ops_, op.get()) != kept_ops_.end()) return;
  make_room(kept_ops_);
  tape_.types_->keep(op);
  kept_ops_.push_back(op.get());
}

SharedInputs& TapeWriter::keep(SharedInputs shared) {
  shared.end = tape_.values_.size();
  return shared_inputs_.emplace_back(std::move(shared));
}

TapeWriter::Mark TapeWriter::mark() const {
  return {tape_.nodes_.size(),  tape_.edges_.size(), tape_.values_.size(), tape_.numbers_.size(),
          tape_.inputs_.size(), tape_.random.count,  data_.mark()};
}

void TapeWriter::revert(const Mark& mark) {
  // The number of unread values becomes unknown, unless nothing is left.
  constexpr std::size_t kMoreThanAny = ~std::size_t{0} / 2;
  tape_.unread_ = mark.nodes == 0 ? 0 : kMoreThanAny;
  tape_.nodes_.truncate(mark.nodes);
  tape_.edges_.truncate(mark.edges);
  tape_.values_.truncate(mark.values);
  tape_.numbers_.truncate(mark.numbers, mark.nodes);
  std::erase_if(tape_.shared_nodes_, [&](NodeId node) { return node >= mark.nodes; });
  tape_.inputs_.resize(mark.inputs);
  std::erase_if(tape_.recursions_, [&](const auto& known) { return known.node >= mark.nodes; });
  std::erase_if(tape_.labels, [&](const auto& entry) { return entry.first >= mark.nodes; });
  tape_.calls.revert(static_cast<NodeId>(mark.nodes));
  tape_.random.count = mark.random_nodes;
  data_.rewind(mark.data);
  parameters_.revert(static_cast<std::uint32_t>(mark.values));
  std::erase_if(own_arguments_, [&](const auto& entry) { return entry.first >= mark.values; });
  std::erase_if(shared_inputs_,
                [&](const auto& known) { return known.end > mark.values || mark.nodes == 0; });
  if (mark.nodes == 0) kept_ops_.clear();
}

}  // namespace dynet_like::detail
