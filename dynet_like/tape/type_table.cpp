// Entering shapes, types, parameters and identities.
#include "dynet_like/tape/type_table.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/tape/columns.h"

namespace dynet_like::detail {

namespace {

// Each is a recorded function: few programs have more than a dozen.
constexpr std::size_t kMostOps = 4096;

void check_arity(const Op& op, std::span<const Dim> inputs) {
  if (inputs.size() >= op.min_inputs && inputs.size() <= op.max_inputs) return;
  const std::string range =
      op.min_inputs == op.max_inputs
          ? std::to_string(op.min_inputs)
          : std::to_string(op.min_inputs) + " to " + std::to_string(op.max_inputs);
  throw_shape_error(op.name, range + " inputs, not " + std::to_string(inputs.size()), inputs);
}

}  // namespace

std::uint32_t TypeTable::find(Kind kind, std::span<const std::uint64_t> key) const {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = keys_of(kind).find(key);
  return kind == Kind::identity && number != Interner::kNone ? number + 1 : number;
}

std::span<const std::uint64_t> TypeTable::shape_key(
    std::array<std::uint64_t, Dim::kMaxDimensions + 1>& words, const Dim& item, DType dtype) {
  words[0] = static_cast<std::uint64_t>(dtype);
  std::copy_n(item.d, item.nd, words.begin() + 1);
  return std::span(words).first(item.nd + 1);
}

ShapeId TypeTable::enter_shape(std::span<const std::uint64_t> key, const Dim& item, DType dtype) {
  const std::lock_guard lock(mutex_);
  return add_shape(key, item, dtype);
}

ShapeId TypeTable::add_shape(std::span<const std::uint64_t> key, const Dim& item, DType dtype) {
  shapes_.make_room();
  const ShapeId id = keys_of(Kind::shape).intern(key);
  if (id == shapes_.size()) shapes_.append() = {item.single_batch(), dtype, item.batch_size()};
  return id;
}

TypeId TypeTable::enter_type(std::span<const std::uint64_t> key, const Op& op,
                             std::span<const InputKey> inputs,
                             std::span<const std::uint32_t> attributes) {
  const std::lock_guard lock(mutex_);
  Interner& keys = keys_of(Kind::type);
  if (const TypeId known = keys.find(key); known != Interner::kNone) return known;
  NodeType type = describe(op, inputs, attributes);
  types_.make_room();
  type.id = keys.intern(key);
  return (types_.append() = std::move(type)).id;
}

NodeType TypeTable::describe(const Op& op, std::span<const InputKey> inputs,
                             std::span<const std::uint32_t> attributes) {
  NodeType result;
  Signature& signature = result.signature;
  signature.op = &op;
  signature.attributes.assign(attributes.begin(), attributes.end());
  for (const InputKey& input : inputs) {
    const Shape& shape = shapes_[shape_of(input)];
    const bool is_shared = argument_of(input) != 0;
    signature.inputs.push_back(shape.dim);
    signature.shared.push_back(is_shared);
    result.has_shared_input |= is_shared;
    signature.dtype = shape.dtype;
    const DType first = shapes_[shape_of(inputs[0])].dtype;
    if (signature.dtype != first) {
      throw UsageError("[" + std::string(op.name) + "] need inputs of one element type; got " +
                       name_of(first) + " and " + name_of(signature.dtype));
    }
  }
  if (inputs.empty())
    signature.dtype = static_cast<DType>(attributes[op.role == Role::recursion ? 2 : 0]);
  check_arity(op, signature.inputs);
  signature.integers = op.integers(attributes);
  if (op.shape == nullptr) {
    throw UsageError("[" + std::string(op.name) + "] need a shape rule, Op::shape; got none");
  }
  signature.output = op.shape(signature.inputs, attributes);
  signature.output.check();
  signature.output_size = signature.output.size();
  if (op.gradient.saved_size != nullptr) signature.saved_size = op.gradient.saved_size(signature);
  for (unsigned j = 0; j < inputs.size(); ++j) {
    result.shared_gradients.push_back(op.gradient.shared(signature, j));
  }
  if (op.gradient.deferred_size != nullptr)
    signature.deferred_size = op.gradient.deferred_size(signature);
  if (op.numbers.integer_limit != nullptr)
    result.integer_limit = op.numbers.integer_limit(signature);
  std::array<std::uint64_t, Dim::kMaxDimensions + 1> words;
  const auto key = shape_key(words, signature.output, signature.dtype);
  result.output_shape = add_shape(key, signature.output, signature.dtype);
  result.output_size = static_cast<std::uint32_t>(signature.output_size);
  result.has_numbers = op.has_numbers();
  result.may_go_by_column = may_go_by_column(op, signature.inputs, attributes);
  result.inputs = static_cast<std::uint32_t>(inputs.size());
  result.keys.assign(inputs.begin(), inputs.end());
  for (unsigned j = 0; j < inputs.size(); ++j) {
    const bool is_stacked = op.joins(j, attributes) == Join::stacked;
    result.keys.push_back(is_stacked ? input_key(~ShapeId{0}, 0) : ~InputKey{0});
  }
  result.op = &op;
  return result;
}

std::uint32_t TypeTable::enter_storage(std::span<const std::uint64_t> key,
                                       const std::shared_ptr<ParameterStorage>& parameter) {
  const std::lock_guard lock(mutex_);
  make_room(storages_);
  const std::uint32_t id = keys_of(Kind::storage).intern(key);
  if (id == storages_.size()) storages_.push_back({parameter, nullptr});
  storages_[id].held = parameter;
  return id;
}

void TypeTable::keep(std::uint32_t storage, const std::shared_ptr<ParameterStorage>& parameter) {
  const std::lock_guard lock(mutex_);
  storages_[storage].held = parameter;
}

void TypeTable::keep(const std::shared_ptr<const Op>& op) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ops_.find(op.get()); known != ops_.end()) {
    known->second.held = op;
    return;
  }
  const bool is_recursion = op->role == Role::recursion;
  if (is_recursion && recursions_ >= kMostOps) {
    throw UsageError("[" + std::string(op->name) + "] need at most " +
                     counted(kMostOps, "recursion") +
                     " and cells, counted for each kind of arguments; got more: make each "
                     "once, next to the parameters that it reads, and not once for every sample");
  }
  ops_.emplace(op.get(), Guest<const Op>{op, op});
  if (is_recursion) ++recursions_;
}

std::shared_ptr<const Op> TypeTable::owner_of(const Op* op) const {
  const std::lock_guard lock(mutex_);
  const auto known = ops_.find(op);
  return known == ops_.end() ? nullptr : known->second.held;
}

Identity TypeTable::enter_identity(std::span<const std::uint64_t> key) {
  const std::lock_guard lock(mutex_);
  return keys_of(Kind::identity).intern(key) + 1;
}

std::uint32_t TypeTable::unique_argument() {
  const std::lock_guard lock(mutex_);
  return kFirstUniqueArgument + unique_arguments_++;
}

std::size_t TypeTable::size() const {
  return types_.size() + shapes_.size() + storages_.size() + identity_count() - 1;
}

bool TypeTable::trim(bool ends_generation) {
  ++trims_;
  if (ends_generation) {
    largest_generation_ = std::max(largest_generation_, size() - size_at_last_trim_);
    most_entries_ = std::max(kFewEntries, kGenerations * largest_generation_);
  }
  let_go();
  const bool forgets = has_much_to_forget();
  if (forgets) forget();
  size_at_last_trim_ = size();
  return forgets;
}

bool TypeTable::has_much_to_forget() const { return size() >= most_entries_ || is_anything_gone(); }

// Ops of recursions own parameters, which must be freed with their models. Other ops are kept until
// nobody else has them, since reports name them.
void TypeTable::let_go() {
  for (auto& [place, op] : ops_) {
    if (op.held != nullptr && op.held->role == Role::recursion) op.held.reset();
  }
  for (Guest<ParameterStorage>& storage : storages_) storage.held.reset();
}

bool TypeTable::is_anything_gone() const {
  return std::ranges::any_of(ops_, [](const auto& op) { return op.second.is_gone(); }) ||
         std::ranges::any_of(storages_, [](const auto& storage) { return storage.is_gone(); });
}

void TypeTable::forget() {
  for (Interner& keys : keys_) keys.clear();
  shapes_.clear();
  types_.clear();
  storages_.clear();
  ops_.clear();
  recursions_ = 0;
  unique_arguments_ = 0;
}

}  // namespace dynet_like::detail
