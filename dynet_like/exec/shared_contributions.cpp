// Collects the contributions of nodes to shared values.
#include "dynet_like/exec/shared_contributions.h"

#include <algorithm>
#include <array>
#include <map>

namespace dynet_like::detail {

void SharedContributions::clear() {
  // Takes time proportional to the contributions, since it is called once for each value of
  // parameters alone.
  for (Target& target : std::span(targets_).first(used_)) {
    target_of_identity_[target.identity] = kNone;
    target.clear();
  }
  used_ = shards_ = 0;
  for (TypeId type : described_) of_type_[type].known = false;
  described_.clear();
}

void SharedContributions::Target::clear() {
  series.clear();
  dy.clear();
  x.clear();
  shard_ends.clear();
  shard_begin = 0;
}

// Targets that are new in this shard get empty earlier ones.
void SharedContributions::end_shard() {
  ++shards_;
  for (Target& target : std::span(targets_).first(used_)) {
    target.shard_ends.resize(shards_ - 1, target.shard_begin);
    target.shard_begin = target.series.size();
    target.shard_ends.push_back(target.shard_begin);
  }
}

SharedContributions::Selection SharedContributions::of_shard(const Target& target,
                                                             std::size_t shard) {
  return {&target, shard == 0 ? 0 : target.shard_ends[shard - 1], target.shard_ends[shard]};
}

SharedContributions::Target SharedContributions::Selection::grouped() const {
  std::map<std::array<std::uint32_t, 5>, std::vector<std::size_t>> series_at;  // by slice
  std::vector<const std::vector<std::size_t>*> slices;
  const std::vector<Series>& series = target->series;
  for (std::size_t r = begin; r < end; ++r) {
    const Slice& slice = series[r].slice;
    auto& at = series_at[{static_cast<std::uint32_t>(slice.kind), slice.row, slice.offset,
                          slice.rows, slice.columns}];
    if (at.empty()) slices.push_back(&at);
    at.push_back(r);
  }
  Target result;
  result.identity = target->identity;
  for (const std::vector<std::size_t>* at : slices) {
    for (const std::size_t r : *at) {
      const Addends some = target->addends(r);
      for (std::size_t i = 0; i < some.n; ++i) result.add(series[r].slice, some.dy[i], some.x[i]);
    }
  }
  return result;
}

std::uint32_t SharedContributions::target_index(Identity identity) {
  if (target_of_identity_.size() <= identity) {
    target_of_identity_.resize(common_.types().identity_count(), kNone);
  }
  std::uint32_t& index = target_of_identity_[identity];
  if (index == kNone) {
    if (targets_.size() == used_) targets_.emplace_back();
    index = static_cast<std::uint32_t>(used_++);
    targets_[index].identity = identity;
  }
  return index;
}

void SharedContributions::seed(Identity identity, const Value& value, const void* ones) {
  const Shape& shape = common_.types().shape(value.shape);
  for (std::uint32_t item = 0; item < value.items; ++item) {
    const std::uint32_t offset = value.offset + item * value.stride;
    target_of(identity).add({SharedGradient::sum, 0, offset, shape.size, 1}, ones, nullptr);
  }
}

SharedContributions::OfItem SharedContributions::of_item(const NodeType& type, unsigned input,
                                                         std::uint32_t offset) {
  const Signature& signature = type.signature;
  const Dim& dim = signature.inputs[input];
  const SharedGradient kind = type.shared_gradients[input];
  const std::size_t element = size_of(signature.dtype);
  const bool deferred = signature.deferred_size > 0;
  const auto size = static_cast<std::uint32_t>(dim.size());
  OfItem of;
  of.slice = {kind, 0, offset, size, 1};
  if (kind == SharedGradient::dense) {
    of.slice.kind = SharedGradient::sum;
    return of;
  }
  if (deferred) of.dy_begin = type.op->gradient.deferred_offset(signature, input) * element;
  if (kind == SharedGradient::outer_product) {
    of.slice.rows = dim.rows();
    of.slice.columns = dim.cols();
    of.steps = signature.inputs[input + 1].cols();
    of.x_step = of.slice.columns * element;
  } else if (kind == SharedGradient::rows) {
    of.slice.rows =
        static_cast<std::uint32_t>(deferred ? signature.deferred_size : signature.output_size);
  } else if (!deferred) {
    of.steps = static_cast<std::uint32_t>(signature.output_size / size);
  }
  of.dy_step = of.slice.rows * element;
  return of;
}

// Arguments that a type contains are the same for all its nodes, so the result for one node holds
// for all. This is not true of stacked arguments that happen to be parameters.
void SharedContributions::describe(TypeContributions& contributions, NodeRef example) {
  const Tape& tape = common_.tape(example);
  const NodeType& type = tape.type_of(example.node);
  contributions.known = contributions.complete = true;
  contributions.element = size_of(type.signature.dtype);
  contributions.all.clear();
  const std::span<const ValueId> inputs = tape.inputs_of(example.node);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (type.signature.shared[j] == 0 || value.identity == 0 || !value.reaches_parameter) continue;
    contributions.complete &= type.shared_gradients[j] != SharedGradient::dense;
    const Identity producer = common_.identity_of({example.tape, value.node});
    contributions.all.push_back({j, target_index(producer), of_item(type, j, value.offset)});
  }
}

const SharedContributions::TypeContributions& SharedContributions::of_type(NodeRef example) {
  const TypeId id = common_.tape(example).node(example.node).type;
  if (of_type_.size() <= id) of_type_.resize(common_.types().type_count());
  TypeContributions& contributions = of_type_[id];
  if (!contributions.known) {
    described_.push_back(id);
    describe(contributions, example);
  }
  return contributions;
}

bool SharedContributions::contribute_by_type(NodeRef consumer, const std::byte* dy) {
  const TypeContributions& contributions = of_type(consumer);
  if (!contributions.complete) return false;
  const TapeState& state = common_.tapes[consumer.tape];
  const Tape& tape = *state.tape;
  const ValueId* const inputs = tape.edges().data() + tape.node(consumer.node).first_edge;
  for (const TypeContribution& contribution : contributions.all) {
    const OfItem& of = contribution.of;
    Target& to = targets_[contribution.target];
    if (of.slice.kind == SharedGradient::rows) {
      OfItem of_row = of;
      of_row.slice.row = tape.integers_of(consumer.node)[0];
      to.add(of_row, dy, nullptr);
    } else if (of.slice.kind == SharedGradient::outer_product) {
      const Value& x = tape.value(inputs[contribution.input + 1]);
      to.add(of, dy, state.nodes[x.node].value + x.offset * contributions.element);
    } else {
      to.add(of, dy, nullptr);
    }
  }
  return true;
}

void SharedContributions::contribute(NodeRef consumer, std::uint32_t input, const std::byte* slots,
                                     const std::byte* dy) {
  const Tape& tape = common_.tape(consumer);
  const NodeType& type = tape.type_of(consumer.node);
  const std::span<const ValueId> inputs = tape.inputs_of(consumer.node);
  const Value& value = tape.value(inputs[input]);
  Consumer node{&type, common_.items_of(consumer), input, &value,
                common_.identity_of({consumer.tape, value.node})};
  if (input + 1 < inputs.size()) {
    node.factor = &tape.value(inputs[input + 1]);
    node.factor_node = common_.tapes[consumer.tape].nodes[node.factor->node].value;
  }
  if (type.signature.integers > 0) node.integers = tape.integers_of(consumer.node);
  node.slots = slots;
  contribute(node, dy);
}

void SharedContributions::contribute(const Consumer& consumer, const std::byte* dy) {
  const NodeType& type = *consumer.type;
  const Signature& signature = type.signature;
  const Value& value = *consumer.value;
  const SharedGradient kind = type.shared_gradients[consumer.input];
  const std::size_t element = size_of(signature.dtype);
  OfItem of = of_item(type, consumer.input, value.offset);
  const bool is_dense = kind == SharedGradient::dense;
  // An open input has any number of columns.
  if (is_dense) of.slice.rows = common_.types().shape(value.shape).size;
  const std::size_t bytes_of_dy =
      (signature.deferred_size > 0 ? signature.deferred_size : signature.output_size) * element;
  const std::byte* from = is_dense ? consumer.slots : dy;
  const std::size_t stride = is_dense ? of.slice.rows * element : bytes_of_dy;
  Target& to = target_of(consumer.producer);
  const std::uint32_t items = type.op->is_open(consumer.input) ? 1 : consumer.items;
  for (std::uint32_t item = 0; item < items; ++item, from += stride) {
    of.slice.offset = value.offset + (value.items == 1 ? 0 : item * value.stride);
    of.slice.row = kind == SharedGradient::rows ? consumer.integers[item] : 0;
    const std::byte* factor = nullptr;
    if (kind == SharedGradient::outer_product) {
      const Value& x = *consumer.factor;
      factor = consumer.factor_node + (x.offset + (x.items == 1 ? 0 : item * x.stride)) * element;
    }
    to.add(of, from, factor);
  }
}

}  // namespace dynet_like::detail
