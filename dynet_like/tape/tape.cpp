// Recording: nodes, sources, numbers and identities.
#include "dynet_like/tape/tape.h"

#include <algorithm>
#include <bit>
#include <ranges>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/columns.h"
#include "dynet_like/tape/labels.h"

namespace dynet_like::detail {

namespace {

[[noreturn]] void throw_unequal_minibatches(const Tape& tape, const Op& op,
                                            std::span<const ValueId> inputs) {
  std::vector<Dim> dims;
  for (ValueId input : inputs) dims.push_back(tape.dim_of(input));
  throw_shape_error(op.name, "minibatches of one size, or of 1", dims);
}

// Offsets and strides are counted in 32 bits.
void check_size(Dim item, std::uint32_t items) {
  item.bd = items;
  item.check();
}

// For every item, or once for all.
void check_count(const Op& op, const char* what, std::size_t each, std::size_t items,
                 std::size_t got) {
  if (got == each || got == each * items) return;
  const std::string of_items = " for each of " + std::to_string(items) + " minibatch elements";
  throw UsageError("[" + std::string(op.name) + "] need " +
                   (each == 0 ? "no " + std::string(what) + "s" : counted(each, what)) +
                   (each > 0 && items > 1 ? of_items : "") + "; got " + std::to_string(got));
}

bool are_given(const Numbers& numbers) {
  return !numbers.integers.empty() || !numbers.reals.empty();
}

// Whether they were given now, and are those of one item.
bool are_of_one_item(const NodeType& type, const Numbers& numbers) {
  if (!type.has_numbers) return !are_given(numbers);
  return !type.op->numbers.random && !numbers.later.given() &&
         numbers.integers.size() == type.signature.integers &&
         numbers.reals.size() == type.op->numbers.reals;
}

void check_integers(const NodeType& type, std::span<const std::uint32_t> integers) {
  const std::uint32_t limit = type.integer_limit;
  for (std::uint32_t integer : integers) {
    if (limit == 0 || integer < limit) continue;
    throw UsageError("[" + std::string(type.op->name) + "] need an integer below " +
                     std::to_string(limit) + "; got " + index_text(integer));
  }
}

}  // namespace

std::uint32_t items_of_numbers(const Op& op, unsigned integers, const Numbers& numbers) {
  std::size_t items = 1;
  if (integers > 0 && !op.numbers.random) items = numbers.integers.size() / integers;
  if (op.numbers.reals > 0) items = std::max(items, numbers.reals.size() / op.numbers.reals);
  return static_cast<std::uint32_t>(items);
}

const float* InputData::values_now() const {
  if (vector == nullptr) return place;
  if (vector->size() != size) {
    throw ShapeError("[input] need " + counted(size, "value") + ", as it was recorded; got " +
                     std::to_string(vector->size()));
  }
  return vector->data();
}

// The edges lie in reserved room. There is a whole node or, if memory runs out, none.
inline ValueId Tape::add_node(const NodeType& type, std::size_t first_number, std::uint32_t items,
                              bool reaches_parameter) {
  const auto node = static_cast<NodeId>(nodes_.size());
  const auto result = static_cast<ValueId>(values_.size());
  *values_.reserve(1) = {node, 0, type.output_shape, 0, items, type.output_size, reaches_parameter};
  nodes_.push_back({type.id, static_cast<std::uint32_t>(edges_.size()),
                    static_cast<std::uint32_t>(first_number), result});
  values_.commit(1);
  const ValueId* const inputs = edges_.data() + edges_.size();
  for (std::uint32_t j = 0; j < type.inputs; ++j) note_read(values_[inputs[j]]);
  edges_.commit(type.inputs);
  ++unread_;
  has_minibatches_ |= items > 1;
  return result;
}

ValueId Tape::add(const Op& op, std::span<const ValueId> inputs,
                  std::span<const std::uint32_t> attributes) {
  const ValueId expected = add_expected(op, inputs, attributes, nullptr);
  return expected != kNoValue ? expected : add_any(op, inputs, attributes, {});
}

ValueId Tape::add(const Op& op, std::span<const ValueId> inputs,
                  std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  const ValueId expected = add_expected(op, inputs, attributes, &numbers);
  return expected != kNoValue ? expected : add_any(op, inputs, attributes, numbers);
}

inline ValueId Tape::add_expected(const Op& op, std::span<const ValueId> inputs,
                                  std::span<const std::uint32_t> attributes,
                                  const Numbers* numbers) {
  const std::size_t size = nodes_.size();
  if (size < 2) return kNoValue;
  const TypeCache::Next& next = cache_->types_after(nodes_[size - 2].type, nodes_[size - 1].type);
  const ValueId added = add_if(*next.last, op, inputs, attributes, numbers);
  if (added != kNoValue) return added;
  return add_if(*next.before, op, inputs, attributes, numbers);
}

inline ValueId Tape::add_if(const NodeType& type, const Op& op, std::span<const ValueId> inputs,
                            std::span<const std::uint32_t> attributes, const Numbers* numbers) {
  if (type.op != &op || type.inputs != inputs.size()) return kNoValue;
  if (numbers == nullptr ? type.has_numbers : !are_of_one_item(type, *numbers)) return kNoValue;
  if (!std::ranges::equal(type.signature.attributes, attributes)) return kNoValue;
  const Value* const values = values_.data();
  const InputKey *key = type.keys.data(), *counts = key + inputs.size();
  ValueId* const edges = edges_.reserve(inputs.size());
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
  const std::size_t first_number = numbers_.size();
  if (type.has_numbers) with_labels(*this, inputs, [&] { add_numbers(op, type, 1, *numbers); });
  return add_node(type, first_number, 1, reaches_parameter);
}

ValueId Tape::add_any(const Op& op, std::span<const ValueId> inputs,
                      std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  if (numbers.later.given()) return add_with_later_integers(op, inputs, attributes, numbers);
  if (op.batching.by_column != nullptr && !records_function_) {
    const ValueId added = add_by_column(op, inputs, attributes, numbers);
    if (added != kNoValue) return added;
  }
  return add_one(op, inputs, attributes, numbers);
}

ValueId Tape::add_one(const Op& op, std::span<const ValueId> inputs,
                      std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  if (input_keys_.size() < inputs.size()) input_keys_.resize(inputs.size());
  const std::span keys = std::span(input_keys_).first(inputs.size());
  const Value* const values = values_.data();
  ValueId* const edges = edges_.reserve(inputs.size());
  std::uint64_t hash = TypeCache::start_hash(op);
  std::uint32_t items = 1;
  bool reaches_parameter = false, all_shared = op.batching.shareable;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const Value& value = values[edges[j] = inputs[j]];
    const bool is_open = op.batching.open_inputs != 0 && op.is_open(static_cast<unsigned>(j));
    keys[j] = input_key(is_open ? open_shape(value.shape) : value.shape, value.identity);
    hash = TypeCache::add_to_hash(hash, keys[j]);
    items = std::max(items, value.items);
    reaches_parameter |= value.reaches_parameter;
    all_shared &= value.identity != 0;
  }
  for (std::uint32_t attribute : attributes) hash = TypeCache::add_to_hash(hash, attribute);
  if (op.has_numbers()) {
    items = std::max(items, items_of_numbers(op, op.integers(attributes), numbers));
  }
  const NodeType* type = nullptr;
  with_labels(*this, inputs, [&] {
    if (op.batching.open_inputs != 0) check_open_inputs(*this, op, inputs, attributes, numbers);
    if (items > 1) check_items(op, inputs, keys, items);
    type = &cache_->recent_type(hash);
    if (!type->matches(op, keys, attributes)) type = &find_type(hash, op, inputs, keys, attributes);
    if (items > 1) check_size(type->signature.output, items);
  });
  if (const std::size_t size = nodes_.size(); size >= 2 && !type->may_go_by_column) {
    cache_->note_type_after(nodes_[size - 2].type, nodes_[size - 1].type, *type);
  }
  const std::size_t first_number = numbers_.size();
  if (type->has_numbers || are_given(numbers)) {
    with_labels(*this, inputs, [&] { add_numbers(op, *type, items, numbers); });
  }
  const ValueId result = add_node(*type, first_number, items, reaches_parameter);
  if (all_shared) identify(result);
  return result;
}

// The shape without its number of columns.
ShapeId Tape::open_shape(ShapeId id) {
  Shape shape = types_->shape(id);
  if (shape.dim.nd > 0) shape.dim.d[shape.dim.nd - 1] = 0;
  return cache_->shape(shape.dim, shape.dtype);
}

// Zeros stand for the integers until then. Such a node has values of its own, whatever its inputs,
// and is not taken by column: it is one node whose integers are read.
ValueId Tape::add_with_later_integers(const Op& op, std::span<const ValueId> inputs,
                                      std::span<const std::uint32_t> attributes,
                                      const Numbers& numbers) {
  if (records_function_) {
    throw UsageError(
        "[" + std::string(op.name) +
        "] need the integers themselves in a function that is recorded once for all "
        "its calls; got a pointer to some that are read when the graph runs: make them "
        "an argument of the cell or the kind of the vertex, or call this outside");
  }
  const std::vector<std::uint32_t> zeros(numbers.later.size(), 0);
  const Numbers until_then{zeros, numbers.reals, {}};
  ValueId result = add_expected(op, inputs, attributes, &until_then);
  if (result == kNoValue) result = add_one(op, inputs, attributes, until_then);
  later_integers_.push_back({values_[result].node, numbers.later});
  if (values_[result].identity != 0) {
    values_[result].identity = 0;
    shared_nodes_.pop_back();
  }
  return result;
}

void Tape::read_later(NodeId id) {
  const auto before = [](const auto& entry, NodeId node) { return entry.first < node; };
  const auto found = std::lower_bound(later_integers_.begin(), later_integers_.end(), id, before);
  if (found == later_integers_.end() || found->first != id) return;
  const NodeType& type = type_of(id);
  const std::vector<std::uint32_t> integers = found->second.now();
  const std::size_t all = integers_of(id).size();
  with_labels(*this, inputs_of(id), [&] {
    check_count(*type.op, "integer", type.signature.integers, items_of(id), integers.size());
    check_integers(type, integers);
  });
  std::uint32_t* const to = numbers_.data() + nodes_[id].first_number;
  for (std::size_t i = 0; i < all; ++i) to[i] = integers[i % integers.size()];
}

// Inputs with one item serve all. What has several is no argument that nodes share.
void Tape::check_items(const Op& op, std::span<const ValueId> inputs, std::span<InputKey> keys,
                       std::uint32_t items) const {
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const std::uint32_t have = values_[inputs[j]].items;
    if (have != 1 && have != items) throw_unequal_minibatches(*this, op, inputs);
    if (have != 1) keys[j] = input_key(detail::shape_of(keys[j]), 0);
  }
}

// The keys of the values become those of the type: how an input joins decides what counts.
const NodeType& Tape::find_type(std::uint64_t hash, const Op& op, std::span<const ValueId> inputs,
                                std::span<InputKey> keys,
                                std::span<const std::uint32_t> attributes) {
  for (unsigned j = 0; j < keys.size(); ++j) {
    const Join join = op.joins(j, attributes);
    const ShapeId shape = detail::shape_of(keys[j]);
    if (join == Join::stacked) keys[j] = input_key(shape, 0);
    if (join == Join::shared && argument_of(keys[j]) == 0) {
      keys[j] = input_key(shape, own_argument(op, j, inputs[j]));
    }
  }
  try {
    return cache_->type(hash, op, keys, attributes);
  } catch (const ShapeError&) {
    if (op.batching.open_inputs == 0) throw;
    // The type does not have the numbers of columns that the message is to tell.
    for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = input_key(values_[inputs[j]].shape, 0);
    cache_->type(op, keys, attributes);
    throw;
  }
}

// The number of an argument that all nodes of a batch must share and that is this graph's own.
std::uint32_t Tape::own_argument(const Op& op, unsigned input, ValueId id) {
  if (values_[id].items > 1) {
    throw_shape_error(op.name, "an argument without minibatch at place " + std::to_string(input),
                      std::vector{dim_of(id)});
  }
  std::uint32_t& argument = unique_arguments_[id];
  if (argument == 0) argument = cache_->unique_argument();
  return argument;
}

void Tape::add_numbers(const Op& op, const NodeType& type, std::uint32_t items,
                       const Numbers& numbers) {
  const std::span integers = numbers.integers;
  const std::span reals = numbers.reals;
  check_count(op, "integer", op.numbers.random ? 0 : type.signature.integers, items,
              integers.size());
  check_count(op, "real", op.numbers.reals, items, reals.size());
  if (op.numbers.random) {
    for (std::uint32_t item = 0; item < items; ++item) {
      std::uint32_t* const to = numbers_.append(3);
      to[0] = sample_;
      to[1] = random_nodes_;
      to[2] = item * type.output_size;
    }
    ++random_nodes_;
  } else if (type.signature.integers > 0) {
    check_integers(type, integers);
    const std::size_t all = std::size_t{type.signature.integers} * items;
    std::uint32_t* const to = numbers_.append(all);
    for (std::size_t i = 0; i < all; i += integers.size()) {
      std::copy(integers.begin(), integers.end(), to + i);
    }
  }
  for (std::size_t i = 0; i < std::size_t{op.numbers.reals} * items; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(reals[i % reals.size()]);
    std::uint32_t* const to = numbers_.append(2);
    to[0] = static_cast<std::uint32_t>(bits);
    to[1] = static_cast<std::uint32_t>(bits >> 32);
  }
}

// A node of shared inputs only is shared: equal type, inputs and numbers make equal values.
void Tape::identify(ValueId id) {
  const Node& node = nodes_[values_[id].node];
  words_ = {static_cast<std::uint64_t>(IdentityKind::node), node.type, values_[id].items};
  for (ValueId input : inputs_of(values_[id].node)) words_.push_back(values_[input].identity);
  for (std::size_t i = node.first_number; i < numbers_.size(); ++i) words_.push_back(numbers_[i]);
  const Identity identity = cache_->identity(words_);
  shared_nodes_.push_back(values_[id].node);
  values_[id].identity = identity;
}

ValueId Tape::add_source(const NodeType& type, std::uint32_t items, std::uint32_t number) {
  const std::size_t first_number = numbers_.size();
  numbers_.push_back(number);
  return add_node(type, first_number, items, false);
}

ValueId Tape::add_input(const Dim& dim, std::span<const float> values) {
  if (values.size() != dim.size()) {
    throw ShapeError("[input] need " + counted(dim.size(), "value") + " for " + to_string(dim) +
                     "; got " + std::to_string(values.size()));
  }
  const NodeType& type = cache_->source_type(ops::input, dim, dtype_);
  void* data = data_.allocate(values.size() * size_of(dtype_));
  if (dtype_ == DType::f32) {
    std::copy(values.begin(), values.end(), static_cast<float*>(data));
  } else {
    std::copy(values.begin(), values.end(), static_cast<double*>(data));
  }
  inputs_.push_back({data, nullptr, nullptr, values.size()});
  return add_source(type, dim.bd, static_cast<std::uint32_t>(inputs_.size() - 1));
}

ValueId Tape::add_input_at(const Dim& dim, const float* values) {
  if (values == nullptr) throw UsageError("[input] need a place to read from; got a null pointer");
  const NodeType& type = cache_->source_type(ops::input, dim, dtype_);
  inputs_.push_back({nullptr, values, nullptr, dim.size()});
  return add_source(type, dim.bd, static_cast<std::uint32_t>(inputs_.size() - 1));
}

ValueId Tape::add_input_at(const Dim& dim, const std::vector<float>* values) {
  if (values == nullptr) throw UsageError("[input] need a place to read from; got a null pointer");
  const NodeType& type = cache_->source_type(ops::input, dim, dtype_);
  const InputData input{nullptr, nullptr, values, dim.size()};
  input.values_now();
  inputs_.push_back(input);
  return add_source(type, dim.bd, static_cast<std::uint32_t>(inputs_.size() - 1));
}

ValueId Tape::add_constant(const Dim& dim, double number) {
  const NodeType& type = cache_->source_type(ops::constant, dim, dtype_);
  const std::size_t first_number = numbers_.size();
  add_numbers(ops::constant, type, dim.bd, {{}, std::span(&number, 1)});
  const ValueId result = add_node(type, first_number, dim.bd, false);
  identify(result);
  return result;
}

ValueId Tape::add_random(const Op& distribution, const Dim& dim,
                         std::span<const double> parameters) {
  const NodeType& type = cache_->source_type(distribution, dim, dtype_);
  const std::size_t first_number = numbers_.size();
  add_numbers(distribution, type, dim.bd, {{}, parameters});
  return add_node(type, first_number, dim.bd, false);
}

ValueId Tape::add_new_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant) {
  const ParameterSource& source = cache_->parameter(parameter, constant);
  const ValueId id = add_source(*source.type, parameter->dim.bd, source.storage);
  values_[id].identity = source.identity[constant];
  values_[id].reaches_parameter = !constant;
  values_[id].blocks_gradient = constant;
  parameters_.add(parameter.get(), constant, id);
  return id;
}

ValueId Tape::add_recursion(SharedInputs& shared, std::span<const ValueId> inputs,
                            std::uint32_t state_size, std::uint32_t most_random,
                            const std::shared_ptr<const Vertices>& vertices) {
  ValueId* const edges = edges_.reserve(inputs.size() + shared.values.size());
  std::copy(inputs.begin(), inputs.end(), edges);
  std::copy(shared.values.begin(), shared.values.end(), edges + inputs.size());
  if (shared.type == SharedInputs::kNoType) {
    const std::span all(edges, inputs.size() + shared.values.size());
    shared.type = type_of_recursion(shared.op, all, inputs.size(), state_size).id;
  }
  check_size(Dim({state_size}), vertices->size());
  const NodeType& type = (*types_)[shared.type];
  bool reaches_parameter = false;
  for (std::uint32_t j = 0; j < type.inputs; ++j) {
    reaches_parameter |= values_[edges[j]].reaches_parameter;
  }
  recursions_.push_back({static_cast<NodeId>(nodes_.size()), vertices, random_nodes_});
  random_nodes_ += most_random * vertices->size();
  vertices_ += vertices->size();
  const std::size_t first_number = numbers_.size();
  numbers_.push_back(static_cast<std::uint32_t>(recursions_.size() - 1));
  return add_node(type, first_number, vertices->size(), reaches_parameter);
}

// The same for all nodes with these shared inputs: the shapes of the others are those that the op
// was made for.
const NodeType& Tape::type_of_recursion(const std::shared_ptr<const Op>& op,
                                        std::span<const ValueId> inputs, std::size_t own,
                                        std::uint32_t state_size) {
  const std::uint32_t attributes[] = {static_cast<std::uint32_t>(own), state_size,
                                      static_cast<std::uint32_t>(dtype_)};
  if (input_keys_.size() < inputs.size()) input_keys_.resize(inputs.size());
  const std::span keys = std::span(input_keys_).first(inputs.size());
  std::uint64_t hash = TypeCache::start_hash(*op);
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const Value& value = values_[inputs[j]];
    const bool is_open = op->is_open(static_cast<unsigned>(j));
    keys[j] =
        input_key(is_open ? open_shape(value.shape) : value.shape, j < own ? 0 : value.identity);
    hash = TypeCache::add_to_hash(hash, keys[j]);
  }
  keep(op);
  const NodeType& type = cache_->recent_type(hash);
  return type.matches(*op, keys, attributes) ? type : cache_->type(hash, *op, keys, attributes);
}

void Tape::keep(const std::shared_ptr<const Op>& op) {
  if (keeps(op.get())) return;
  make_room(kept_ops_);
  types_->keep(op);
  kept_ops_.push_back(op.get());
}

SharedInputs* Tape::find_shared_inputs(const Op* op, std::uint64_t frozen) {
  for (SharedInputs& known : shared_inputs_) {
    if (known.op.get() == op && known.frozen == frozen) return &known;
  }
  return nullptr;
}

SharedInputs& Tape::keep_shared_inputs(const std::shared_ptr<const Op>& op, std::uint64_t frozen,
                                       std::vector<ValueId> values) {
  shared_inputs_.push_back({op, frozen, std::move(values), values_.size()});
  return shared_inputs_.back();
}

// Until now it has the identity of what it is a view of.
void Tape::identify_view(ValueId id) {
  Value& view = values_[id];
  const std::uint64_t words[] = {static_cast<std::uint64_t>(IdentityKind::view),
                                 view.identity | std::uint64_t{view.offset} << 32,
                                 view.shape | std::uint64_t{view.items} << 32,
                                 view.stride | std::uint64_t{view.blocks_gradient} << 32};
  view.identity = cache_->identity(words);
}

std::span<const std::uint32_t> Tape::integers_of(NodeId id) const {
  const Node& node = nodes_[id];
  return {numbers_.data() + node.first_number,
          std::size_t{type_of(id).signature.integers} * values_[node.value].items};
}

double Tape::real_of(NodeId id, std::size_t i) const {
  const std::uint32_t* words =
      numbers_.data() + nodes_[id].first_number + integers_of(id).size() + 2 * i;
  return std::bit_cast<double>(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
}

Dim Tape::dim_of(ValueId id) const {
  Dim dim = shape_of(id).dim;
  dim.bd = values_[id].items;
  return dim;
}

}  // namespace dynet_like::detail
