// Recording: nodes, sources, numbers and identities.
#include "dynet_like/tape/tape.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace {

// First words of identities, so that different kinds never meet.
enum IdentityKind : std::uint64_t { kParameter, kConstantParameter, kView, kNode };

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

[[noreturn]] void throw_count(const Op& op, const char* what, std::size_t each, std::size_t items,
                              std::size_t got) {
  throw UsageError("[" + std::string(op.name) + "] need " + std::to_string(each) + " " + what +
                   " for each of " + std::to_string(items) + " minibatch elements; got " +
                   std::to_string(got));
}

[[noreturn]] void throw_too_large(const Op& op, std::uint32_t limit, std::uint32_t got) {
  throw UsageError("[" + std::string(op.name) + "] need an integer below " + std::to_string(limit) +
                   "; got " + std::to_string(got));
}

}  // namespace

const float* InputData::values_now() const {
  if (vector == nullptr) return place;
  if (vector->size() != size) {
    throw ShapeError("[input] need " + std::to_string(size) + " values, as it was recorded; got " +
                     std::to_string(vector->size()));
  }
  return vector->data();
}

ValueId Tape::add(const Op& op, std::span<const ValueId> inputs,
                  std::span<const std::uint32_t> attributes,
                  std::span<const std::uint32_t> integers, std::span<const double> reals) {
  if (input_keys_.size() < inputs.size()) input_keys_.resize(inputs.size());
  std::uint32_t items = 1;
  bool reaches_parameter = false, known_everywhere = op.shareable;
  for (unsigned j = 0; j < inputs.size(); ++j) {
    const Value& value = values_[inputs[j]];
    items = std::max(items, value.items);
    reaches_parameter |= value.reaches_parameter;
    known_everywhere &= value.identity != 0;
    input_keys_[j] = {value.shape,
                      op.join == nullptr ? 0 : argument_mark(op, j, inputs[j], attributes)};
  }
  if (op.integers_per_item > 0 && !op.random) {
    items = std::max(items, static_cast<std::uint32_t>(integers.size() / op.integers_per_item));
  }
  if (op.reals_per_item > 0) {
    items = std::max(items, static_cast<std::uint32_t>(reals.size() / op.reals_per_item));
  }
  if (items > 1) {
    for (ValueId input : inputs) {
      const std::uint32_t have = values_[input].items;
      if (have != 1 && have != items) throw_unequal_minibatches(*this, op, inputs);
    }
  }
  const TypeId type_id = types_->type(op, std::span(input_keys_).first(inputs.size()), attributes);
  const NodeType& type = (*types_)[type_id];
  if (items > 1) check_size(type.signature.output, items);
  const std::size_t first_number = numbers_.size();
  if (op.random || op.integers_per_item + op.reals_per_item > 0) {
    add_numbers(op, type, items, integers, reals);
  }
  nodes_.push_back({type_id, static_cast<std::uint32_t>(edges_.size()),
                    static_cast<std::uint32_t>(first_number),
                    static_cast<ValueId>(values_.size())});
  for (ValueId input : inputs) edges_.push_back(input);
  values_.push_back({static_cast<NodeId>(nodes_.size() - 1), 0, type.output_shape, items,
                     static_cast<std::uint32_t>(type.signature.output_size), 0, reaches_parameter});
  const auto result = static_cast<ValueId>(values_.size() - 1);
  if (known_everywhere) identify(result);
  return result;
}

// How the type names an argument that the nodes of a batch share: 0 if they need not share it.
std::uint32_t Tape::argument_mark(const Op& op, unsigned input, ValueId id,
                                  std::span<const std::uint32_t> attributes) {
  const Join join = op.joins(input, attributes);
  const Value& value = values_[id];
  if (join == Join::stacked) return 0;
  if (value.identity != 0 && value.items == 1) return TypeTable::shared_argument(value.identity);
  if (join == Join::broadcast) return 0;
  if (value.items > 1) {
    throw_shape_error(op.name, "an argument without minibatch at place " + std::to_string(input),
                      std::vector{dim_of(id)});
  }
  std::uint32_t& mark = unique_arguments_[id];
  if (mark == 0) mark = types_->unique_argument();
  return mark;
}

void Tape::add_numbers(const Op& op, const NodeType& type, std::uint32_t items,
                       std::span<const std::uint32_t> integers, std::span<const double> reals) {
  if (op.random) {
    for (std::uint32_t item = 0; item < items; ++item) {
      const auto first = static_cast<std::uint32_t>(item * type.signature.output_size);
      numbers_.insert(numbers_.end(), {sample_, random_nodes_, first});
    }
    ++random_nodes_;
  } else if (op.integers_per_item > 0) {
    const std::size_t each = op.integers_per_item;
    if (integers.size() != each && integers.size() != each * items) {
      throw_count(op, "integers", each, items, integers.size());
    }
    for (std::uint32_t integer : integers) {
      if (type.integer_limit != 0 && integer >= type.integer_limit) {
        throw_too_large(op, type.integer_limit, integer);
      }
    }
    const std::size_t copies = each * items / integers.size();
    for (std::size_t copy = 0; copy < copies; ++copy) {
      numbers_.insert(numbers_.end(), integers.begin(), integers.end());
    }
  }
  if (op.reals_per_item > 0) {
    const std::size_t each = op.reals_per_item;
    if (reals.size() != each && reals.size() != each * items) {
      throw_count(op, "numbers", each, items, reals.size());
    }
    for (std::size_t i = 0; i < each * items; ++i) {
      const auto bits = std::bit_cast<std::uint64_t>(reals[i % reals.size()]);
      numbers_.push_back(static_cast<std::uint32_t>(bits));
      numbers_.push_back(static_cast<std::uint32_t>(bits >> 32));
    }
  }
}

// A node of shared inputs only is shared: equal type, inputs and numbers make equal values.
void Tape::identify(ValueId id) {
  const NodeId node = values_[id].node;
  const std::uint32_t items = values_[id].items;
  std::vector<std::uint64_t> words = {kNode, nodes_[node].type, items};
  for (ValueId input : inputs_of(node)) words.push_back(values_[input].identity);
  words.insert(words.end(), numbers_.begin() + nodes_[node].first_number, numbers_.end());
  values_[id].identity = types_->identity(words);
}

ValueId Tape::add_source(const Op& op, const Dim& dim, std::uint32_t number, DType dtype) {
  dim.check();
  if (dim.size() == 0) throw_shape_error(op.name, "at least one element", std::span(&dim, 1));
  std::uint32_t attributes[Dim::kMaxDimensions + 1] = {static_cast<std::uint32_t>(dtype)};
  std::copy_n(dim.d, dim.nd, attributes + 1);
  const TypeId type_id = types_->type(op, {}, std::span(attributes, dim.nd + 1));
  const NodeType& type = (*types_)[type_id];
  const auto id = static_cast<ValueId>(values_.size());
  nodes_.push_back({type_id, static_cast<std::uint32_t>(edges_.size()),
                    static_cast<std::uint32_t>(numbers_.size()), id});
  numbers_.push_back(number);
  values_.push_back({static_cast<NodeId>(nodes_.size() - 1), 0, type.output_shape, dim.bd,
                     static_cast<std::uint32_t>(type.signature.output_size)});
  return id;
}

ValueId Tape::add_input(const Dim& dim, std::span<const float> values) {
  if (values.size() != dim.size()) {
    throw ShapeError("[input] need " + std::to_string(dim.size()) + " values for " +
                     to_string(dim) + "; got " + std::to_string(values.size()));
  }
  void* data = data_.allocate(values.size() * size_of(dtype_));
  if (dtype_ == DType::f32) {
    std::copy(values.begin(), values.end(), static_cast<float*>(data));
  } else {
    std::copy(values.begin(), values.end(), static_cast<double*>(data));
  }
  inputs_.push_back({data, nullptr, nullptr, values.size()});
  return add_source(ops::input, dim, static_cast<std::uint32_t>(inputs_.size() - 1), dtype_);
}

ValueId Tape::add_input_at(const Dim& dim, const float* values) {
  if (values == nullptr) throw UsageError("[input] need a place to read from; got a null pointer");
  inputs_.push_back({nullptr, values, nullptr, dim.size()});
  return add_source(ops::input, dim, static_cast<std::uint32_t>(inputs_.size() - 1), dtype_);
}

ValueId Tape::add_input_at(const Dim& dim, const std::vector<float>* values) {
  if (values == nullptr) throw UsageError("[input] need a place to read from; got a null pointer");
  inputs_.push_back({nullptr, nullptr, values, dim.size()});
  inputs_.back().values_now();
  return add_source(ops::input, dim, static_cast<std::uint32_t>(inputs_.size() - 1), dtype_);
}

ValueId Tape::add_constant(const Dim& dim, double number) {
  dim.check();
  if (dim.size() == 0) throw_shape_error("constant", "at least one element", std::span(&dim, 1));
  std::uint32_t attributes[Dim::kMaxDimensions + 1] = {static_cast<std::uint32_t>(dtype_)};
  std::copy_n(dim.d, dim.nd, attributes + 1);
  const std::vector<double> reals(dim.bd, number);
  return add(ops::constant, {}, std::span(attributes, dim.nd + 1), {}, reals);
}

ValueId Tape::add_parameter(const std::shared_ptr<ParameterStorage>& parameter, bool constant) {
  KnownParameter& known = this->known(*parameter);
  ValueId& value = known.value[constant];
  if (value == 0) {
    const std::uint32_t storage = types_->storage(parameter);
    const Op& op = parameter->is_table ? ops::lookup_parameter : ops::parameter;
    value = add_source(op, parameter->dim, storage, parameter->dtype) + 1;
    const std::uint64_t words[] = {constant ? kConstantParameter : kParameter, storage};
    values_[value - 1].identity = types_->identity(words);
    values_[value - 1].reaches_parameter = !constant;
    values_[value - 1].blocks_gradient = constant;
  }
  return value - 1;
}

// Usually a parameter's position in its collection says where it is known.
Tape::KnownParameter& Tape::known(const ParameterStorage& storage) {
  if (storage.index < known_parameters_.size() &&
      known_parameters_[storage.index].storage == &storage) {
    return known_parameters_[storage.index];
  }
  for (KnownParameter& known : known_parameters_) {
    if (known.storage == &storage) return known;
  }
  if (known_parameters_.size() <= storage.index) known_parameters_.resize(storage.index + 1);
  KnownParameter& at_index = known_parameters_[storage.index];
  KnownParameter& place = at_index.storage == nullptr ? at_index : known_parameters_.emplace_back();
  place.storage = &storage;
  return place;
}

ValueId Tape::add_view(ValueId base_id, const Value& view) {
  Value value = view;
  const Value& base = values_[base_id];
  value.node = base.node;
  value.reaches_parameter = base.reaches_parameter && !view.blocks_gradient;
  value.blocks_gradient |= base.blocks_gradient;
  if (base.identity != 0) {
    const std::uint64_t words[] = {kView,       base.identity, value.offset,         value.shape,
                                   value.items, value.stride,  value.blocks_gradient};
    value.identity = types_->identity(words);
  }
  values_.push_back(value);
  return static_cast<ValueId>(values_.size() - 1);
}

std::span<const std::uint32_t> Tape::integers_of(NodeId id) const {
  const Node& node = nodes_[id];
  return std::span(numbers_).subspan(node.first_number,
                                     type_of(id).op->integers_per_item * values_[node.value].items);
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

const std::string& Tape::label_of(NodeId id) const {
  static const std::string none;
  const auto found = labels_.find(id);
  return found == labels_.end() ? none : found->second;
}

Tape::Mark Tape::mark() const {
  return {nodes_.size(),  edges_.size(), values_.size(), numbers_.size(),
          inputs_.size(), random_nodes_, data_.mark()};
}

void Tape::revert(const Mark& mark) {
  nodes_.resize(mark.nodes);
  edges_.resize(mark.edges);
  values_.resize(mark.values);
  numbers_.resize(mark.numbers);
  inputs_.resize(mark.inputs);
  random_nodes_ = mark.random_nodes;
  data_.rewind(mark.data);
  for (KnownParameter& known : known_parameters_) {
    for (ValueId& value : known.value) {
      if (value > mark.values) value = 0;
    }
  }
  if (mark.values == 0) known_parameters_.clear();
  std::erase_if(unique_arguments_, [&](const auto& entry) { return entry.first >= mark.values; });
  std::erase_if(labels_, [&](const auto& entry) { return entry.first >= mark.nodes; });
}

}  // namespace dynet_like
