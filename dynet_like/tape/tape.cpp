// The less frequent reads of a tape, the numbers of its nodes, and names of nodes for messages.
#include "dynet_like/tape/tape.h"

#include <algorithm>
#include <bit>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/philox.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

// Numbers may be given for every item, or once for all.
void check_count(const Op& op, const char* what, std::size_t each, std::size_t items,
                 std::size_t got) {
  if (got == each || got == each * items) return;
  const std::string of_items = " for each of " + std::to_string(items) + " minibatch elements";
  throw UsageError("[" + std::string(op.name) + "] need " +
                   (each == 0 ? "no " + std::string(what) + "s" : counted(each, what)) +
                   (each > 0 && items > 1 ? of_items : "") + "; got " + std::to_string(got));
}

void check_integers(const NodeType& type, std::span<const std::uint32_t> integers) {
  const std::uint32_t limit = type.integer_limit;
  for (std::uint32_t integer : integers) {
    if (limit == 0 || integer < limit) continue;
    throw UsageError("[" + std::string(type.op->name) + "] need an integer below " +
                     std::to_string(limit) + "; got " + index_text(integer));
  }
}

// Repeats the integers until `to` is full.
void repeat(std::span<const std::uint32_t> integers, std::span<std::uint32_t> to) {
  for (std::size_t i = 0; i < to.size(); i += integers.size()) {
    std::ranges::copy(integers, to.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::uint64_t RandomNodes::seed_for(std::string_view user) const {
  if (seed.has_value()) return *seed;
  throw UsageError(
      "[" + std::string(user) +
      "] need a seed for random numbers; got a graph by itself, without one: set "
      "GraphOptions::seed, call set_seed, or use a Minibatch; with GraphOptions::inference "
      "dropout needs none");
}

void NodeNumbers::add(const NodeType& type, std::uint32_t items, const Numbers& numbers,
                      RandomNodes& random) {
  const Op& op = *type.op;
  const std::span integers = numbers.integers;
  const std::span reals = numbers.reals;
  check_count(op, "integer", op.numbers.random ? 0 : type.signature.integers, items,
              integers.size());
  check_count(op, "real", op.numbers.reals, items, reals.size());
  if (op.numbers.random) {
    const std::uint64_t seed = random.seed_for(op.name);
    const std::size_t first = words_.size();
    for (std::uint32_t item = 0; item < items; ++item) {
      std::uint32_t* const to = words_.append(kRandomIntegers);
      to[2] = random.count;
      to[3] = item * type.output_size;
    }
    set_seed(first, items, seed);
    ++random.count;
  } else if (type.signature.integers > 0) {
    check_integers(type, integers);
    const std::size_t all = std::size_t{type.signature.integers} * items;
    repeat(integers, {words_.append(all), all});
  }
  for (std::size_t i = 0; i < std::size_t{op.numbers.reals} * items; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(reals[i % reals.size()]);
    std::uint32_t* const to = words_.append(2);
    to[0] = static_cast<std::uint32_t>(bits);
    to[1] = static_cast<std::uint32_t>(bits >> 32);
  }
}

double NodeNumbers::real(std::size_t place) const {
  return std::bit_cast<double>(words_[place] | static_cast<std::uint64_t>(words_[place + 1]) << 32);
}

void NodeNumbers::set_seed(std::size_t first, std::uint32_t items, std::uint64_t seed) {
  for (std::uint32_t item = 0; item < items; ++item) {
    std::uint32_t* const to = words_.data() + first + item * std::size_t{kRandomIntegers};
    to[0] = static_cast<std::uint32_t>(seed);
    to[1] = static_cast<std::uint32_t>(seed >> 32);
  }
}

const IntegersAt* NodeNumbers::find_later(NodeId node) const {
  const auto found =
      std::ranges::lower_bound(later_, node, {}, [](const auto& e) { return e.first; });
  return found == later_.end() || found->first != node ? nullptr : &found->second;
}

void NodeNumbers::replace(const NodeType& type, std::uint32_t items, std::size_t first,
                          std::span<const std::uint32_t> integers) {
  check_count(*type.op, "integer", type.signature.integers, items, integers.size());
  check_integers(type, integers);
  repeat(integers, {words_.data() + first, std::size_t{type.signature.integers} * items});
}

void NodeNumbers::truncate(std::size_t size, std::size_t nodes) {
  words_.truncate(size);
  std::erase_if(later_, [&](const auto& entry) { return entry.first >= nodes; });
}

const float* InputData::values_now() const {
  if (vector == nullptr) return place;
  if (vector->size() != size) {
    throw ShapeError("[input] need " + counted(size, "value") + ", as it was recorded; got " +
                     std::to_string(vector->size()));
  }
  return vector->data();
}

std::size_t Tape::work() const {
  std::size_t work = size();
  for (const RecordedRecursion& recursion : recursions_) work += recursion.vertices->size();
  return work;
}

std::span<const std::uint32_t> Tape::integers_of(NodeId id) const {
  const Node& node = nodes_[id];
  return numbers_.from(node.first_number)
      .first(std::size_t{type_of(id).signature.integers} * values_[node.value].items);
}

void Tape::draw_again(std::uint64_t seed) {
  random.seed = seed;
  for (NodeId id = 0; id < nodes_.size() && random.count > 0; ++id) {
    if (!type_of(id).op->numbers.random) continue;
    numbers_.set_seed(nodes_[id].first_number, items_of(id), seed);
  }
}

Dim Tape::dim_of(ValueId id) const {
  Dim dim = shape_of(id).dim;
  dim.bd = values_[id].items;
  return dim;
}

const std::string& label_of(const Tape& tape, NodeId node) {
  static const std::string none;
  const auto found = tape.labels.find(node);
  return found == tape.labels.end() ? none : found->second;
}

const std::string& name_of(const Tape& tape, NodeId node) {
  const Op& op = *tape.type_of(node).op;
  const std::string& label = label_of(tape, node);
  if (op.role == Role::row && label.empty()) {
    return name_of(tape, tape.value(tape.inputs_of(node)[0]).node);
  }
  if (!op.is_parameter() || !label.empty()) return label;
  // A parameter that was added without a name has a meaningless one, such as "/_2".
  const std::string& name = tape.storage_of(node).name;
  return name.find("/_", name.rfind('/')) == std::string::npos ? name : label;
}

std::string labels_of(const Tape& tape, std::span<const ValueId> values) {
  constexpr int kMost = 8;
  std::string result;
  int shown = 0;
  for (ValueId value : values) {
    const std::string& name = name_of(tape, tape.value(value).node);
    if (name.empty()) continue;
    if (shown++ == kMost) return result + ", ...";
    result += (shown == 1 ? ", where " : ", ") + quoted_text(name) + " is " +
              to_string(tape.dim_of(value));
  }
  return result;
}

}  // namespace dynet_like::detail
