// Interning of shapes, types and identities.
#include "dynet_like/tape/type_table.h"

#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace {

// Types beyond this number are more likely forgotten programs than a large model.
constexpr std::size_t kMostEntries = 1u << 16;

void check_arity(const Op& op, std::span<const Dim> inputs) {
  if (inputs.size() >= op.min_inputs && inputs.size() <= op.max_inputs) return;
  const std::string range =
      op.min_inputs == op.max_inputs
          ? std::to_string(op.min_inputs)
          : std::to_string(op.min_inputs) + " to " + std::to_string(op.max_inputs);
  throw_shape_error(op.name, range + " inputs, not " + std::to_string(inputs.size()), inputs);
}

}  // namespace

TypeTable::TypeTable() = default;

ShapeId TypeTable::shape(const Dim& item, DType dtype) {
  std::uint64_t words[Dim::kMaxDimensions + 1] = {static_cast<std::uint64_t>(dtype)};
  for (unsigned i = 0; i < item.nd; ++i) words[i + 1] = item.d[i];
  const ShapeId id = shape_keys_.intern(std::span(std::as_const(words)).first(item.nd + 1)).first;
  if (id >= shapes_.size()) shapes_.resize(id + 1);
  if (shapes_[id].size == 0) shapes_[id] = {item.single_batch(), dtype, item.batch_size()};
  return id;
}

TypeId TypeTable::type(const Op& op, std::span<const InputKey> inputs,
                       std::span<const std::uint32_t> attributes) {
  const std::size_t size = 2 + inputs.size() + attributes.size();
  if (words_.size() < size) words_.resize(2 * size);
  std::uint64_t* word = words_.data();
  *word++ = reinterpret_cast<std::uintptr_t>(&op);
  *word++ = inputs.size();
  for (const InputKey& input : inputs) {
    *word++ = input.shape | static_cast<std::uint64_t>(input.shared) << 32;
  }
  for (std::uint32_t attribute : attributes) *word++ = attribute;
  const TypeId id = type_keys_.intern(std::span(std::as_const(words_)).first(size)).first;
  if (id >= types_.size()) types_.resize(id + 1);
  // A type that could not be described stays empty and throws again.
  if (types_[id].op == nullptr) types_[id] = describe(op, inputs, attributes);
  return id;
}

NodeType TypeTable::describe(const Op& op, std::span<const InputKey> inputs,
                             std::span<const std::uint32_t> attributes) {
  NodeType result;
  Signature& signature = result.signature;
  signature.op = &op;
  signature.attributes.assign(attributes.begin(), attributes.end());
  for (const InputKey& input : inputs) {
    signature.inputs.push_back(shapes_[input.shape].dim);
    signature.shared.push_back(input.shared != 0);
    result.has_shared_input |= input.shared != 0;
    signature.dtype = shapes_[input.shape].dtype;
    if (signature.dtype != shapes_[inputs[0].shape].dtype) {
      throw UsageError("[" + std::string(op.name) + "] need inputs of one element type; got " +
                       name_of(shapes_[inputs[0].shape].dtype) + " and " +
                       name_of(signature.dtype));
    }
  }
  if (inputs.empty()) signature.dtype = static_cast<DType>(attributes[0]);
  check_arity(op, signature.inputs);
  signature.output = op.shape(signature.inputs, attributes);
  signature.output.check();
  signature.output_size = signature.output.size();
  if (op.saved_size != nullptr) signature.saved_size = op.saved_size(signature);
  for (unsigned j = 0; j < inputs.size(); ++j) {
    result.shared_gradients.push_back(op.shared_gradient(signature, j));
  }
  if (op.deferred_size != nullptr) signature.deferred_size = op.deferred_size(signature);
  if (op.integer_limit != nullptr) result.integer_limit = op.integer_limit(signature);
  result.output_shape = shape(signature.output, signature.dtype);
  result.inputs = static_cast<std::uint32_t>(inputs.size());
  result.op = &op;
  return result;
}

// The op's own rules check the range and give the shape.
RangeShape TypeTable::describe_range(ShapeId from, std::uint32_t d, std::uint32_t length) {
  const InputKey key{from, 0};
  const std::uint32_t attributes[] = {d, length};
  const NodeType& range = types_[type(ops::pick_range, std::span(&key, 1), attributes)];
  const Axis axis(shapes_[from].dim, d);
  return {from,
          d,
          length,
          range.output_shape,
          static_cast<std::uint32_t>(axis.inner),
          range.integer_limit - 1};
}

std::uint32_t TypeTable::storage(const std::shared_ptr<ParameterStorage>& parameter) {
  const std::uint64_t words[] = {reinterpret_cast<std::uintptr_t>(parameter.get())};
  const std::uint32_t id = storage_keys_.intern(words).first;
  if (id >= storages_.size()) storages_.resize(id + 1);
  storages_[id] = parameter;
  return id;
}

void TypeTable::trim() {
  // Parameters that nobody else has are let go.
  for (std::shared_ptr<ParameterStorage>& storage : storages_) {
    if (storage.use_count() == 1) storage.reset();
  }
  if (types_.size() + identities_.size() + shapes_.size() + storages_.size() < kMostEntries) return;
  *this = TypeTable();
}

}  // namespace dynet_like
