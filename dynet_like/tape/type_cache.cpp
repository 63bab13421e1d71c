// The slower paths of TypeCache: what is not found at once, and requests to the table.
#include "dynet_like/tape/type_cache.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

// Marks unknown types: it has no op, so that no node matches it.
const NodeType kNoType;

// Ranges along the last dimension that is not 1 are contiguous.
bool is_contiguous_range(const Dim& dim, unsigned d) {
  for (unsigned i = d + 1; i < dim.nd; ++i) {
    if (dim.d[i] != 1) return false;
  }
  return true;
}

}  // namespace

// Only what is new to the table, too, must wait for this sample's turn.
template <class Enter>
std::uint32_t TypeCache::number(TypeTable::Kind kind, std::span<const std::uint64_t> key,
                                Enter enter) {
  Known& known = known_[static_cast<std::size_t>(kind)];
  if (const std::uint32_t here = known.keys.find(key); here != Interner::kNone) {
    return known.numbers[here];
  }
  std::uint32_t there = turn_ == nullptr ? Interner::kNone : table_.find(kind, key);
  if (there == Interner::kNone) {
    if (turn_ != nullptr) turn_->wait_for_those_before(sample_);
    there = enter();
  }
  make_room(known.numbers);
  known.keys.intern(key);
  known.numbers.push_back(there);
  return there;
}

const NodeType& TypeCache::type(const Op& op, std::span<const InputKey> inputs,
                                std::span<const std::uint32_t> attributes) {
  words_.clear();
  words_.push_back(reinterpret_cast<std::uintptr_t>(&op));
  words_.push_back(inputs.size());
  words_.insert(words_.end(), inputs.begin(), inputs.end());
  words_.insert(words_.end(), attributes.begin(), attributes.end());
  return table_[number(TypeTable::Kind::type, words_,
                       [&] { return table_.enter_type(words_, op, inputs, attributes); })];
}

const NodeType& TypeCache::source_type(const Op& op, const Dim& dim, DType dtype) {
  dim.check();
  if (dim.size() == 0) throw_shape_error(op.name, "at least one element", std::span(&dim, 1));
  std::uint32_t attributes[Dim::kMaxDimensions + 1] = {static_cast<std::uint32_t>(dtype)};
  std::copy_n(dim.d, dim.nd, attributes + 1);
  return type(op, {}, std::span(attributes).first(dim.nd + 1));
}

ShapeId TypeCache::shape(const Dim& item, DType dtype) {
  std::array<std::uint64_t, Dim::kMaxDimensions + 1> words;
  const auto key = TypeTable::shape_key(words, item, dtype);
  return number(TypeTable::Kind::shape, key, [&] { return table_.enter_shape(key, item, dtype); });
}

// The op's own rules check the range and compute the shape.
const RangeShape& TypeCache::describe_range(ShapeId from, std::uint32_t d, std::uint32_t length) {
  const InputKey key = input_key(from, 0);
  const std::uint32_t attributes[] = {d, length};
  const NodeType& pick = type(ops::pick_range, std::span(&key, 1), attributes);
  const Shape& shape = table_.shape(from);
  RangeShape range{from, d, length, pick.output_shape};
  if (length == 1) {
    Dim dim = pick.signature.output;
    dim.delete_dim(d);
    range.without_d = this->shape(dim, shape.dtype);
  }
  range.inner = static_cast<std::uint32_t>(Axis(shape.dim, d).inner);
  range.last_start = pick.integer_limit - 1;
  range.is_contiguous = is_contiguous_range(shape.dim, d);
  return ranges_[range_place(from, d, length)] = range;
}

const ParameterSource& TypeCache::parameter(const std::shared_ptr<ParameterStorage>& storage,
                                            bool constant) {
  const std::uint64_t key[] = {reinterpret_cast<std::uintptr_t>(storage.get())};
  const std::uint32_t number = this->number(TypeTable::Kind::storage, key,
                                            [&] { return table_.enter_storage(key, storage); });
  if (parameters_.size() <= number) parameters_.resize(number + 1);
  ParameterSource& source = parameters_[number];
  if (source.type == nullptr) {
    const Op& op = storage->is_table ? ops::lookup_parameter : ops::parameter;
    source.type = &source_type(op, storage->dim, storage->dtype);
    source.storage = number;
  }
  if (source.kept_after != table_.trims()) {
    table_.keep(number, storage);
    source.kept_after = table_.trims();
  }
  if (source.identity[constant] == 0) {
    const IdentityKind kind = constant ? IdentityKind::constant_parameter : IdentityKind::parameter;
    const std::uint64_t words[] = {static_cast<std::uint64_t>(kind), number};
    source.identity[constant] = identity(words);
  }
  return source;
}

Identity TypeCache::identity(std::span<const std::uint64_t> words) {
  return number(TypeTable::Kind::identity, words, [&] { return table_.enter_identity(words); });
}

std::uint32_t TypeCache::unique_argument() {
  if (turn_ != nullptr) turn_->wait_for_those_before(sample_);
  return table_.unique_argument();
}

void TypeCache::forget() {
  recent_.fill(&kNoType);
  after_.fill({&kNoType, &kNoType});
  ranges_.fill(RangeShape{});
  for (Known& known : known_) {
    known.keys.clear();
    known.numbers.clear();
  }
  parameters_.clear();
}

}  // namespace dynet_like::detail
