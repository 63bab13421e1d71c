// Collecting what nodes contribute to shared values.
#include "dynet_like/exec/shared_contributions.h"

#include <algorithm>
#include <array>
#include <map>

namespace dynet_like::detail {

void SharedContributions::clear() {
  // In time that follows from what was contributed: values of parameters alone clear it one by one.
  for (Target& target : std::span(targets_).first(used_)) {
    target_of_identity_[target.identity] = kNone;
    target.clear();
  }
  used_ = parts_ = 0;
  for (TypeId type : described_) of_type_[type].known = false;
  described_.clear();
}

void SharedContributions::Target::clear() {
  runs.clear();
  dy.clear();
  x.clear();
  part_ends.clear();
  part_begin = 0;
}

// Targets that came later have nothing in the parts before.
void SharedContributions::end_part() {
  ++parts_;
  for (Target& target : std::span(targets_).first(used_)) {
    target.part_ends.resize(parts_ - 1, target.part_begin);
    target.part_begin = target.runs.size();
    target.part_ends.push_back(target.part_begin);
  }
}

SharedContributions::Runs SharedContributions::runs_of_part(const Target& target,
                                                            std::size_t part) {
  return {&target, part == 0 ? 0 : target.part_ends[part - 1], target.part_ends[part]};
}

SharedContributions::Target SharedContributions::Runs::grouped() const {
  std::map<std::array<std::uint32_t, 5>, std::vector<std::size_t>> runs_at;  // by place
  std::vector<const std::vector<std::size_t>*> places;
  const std::vector<Run>& runs = target->runs;
  for (std::size_t r = begin; r < end; ++r) {
    const Place& place = runs[r].place;
    auto& at = runs_at[{static_cast<std::uint32_t>(place.kind), place.row, place.offset, place.rows,
                        place.columns}];
    if (at.empty()) places.push_back(&at);
    at.push_back(r);
  }
  Target result;
  result.identity = target->identity;
  for (const std::vector<std::size_t>* at : places) {
    for (const std::size_t r : *at) {
      const Addends some = target->addends(r);
      for (std::size_t i = 0; i < some.n; ++i) result.add(runs[r].place, some.dy[i], some.x[i]);
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

void SharedContributions::contribute(const SharedEdge& edge, const std::byte* dy) {
  const Tape& tape = common_.tape(edge.consumer);
  const NodeId node = edge.consumer.node;
  const NodeType& type = tape.type_of(node);
  const std::span<const ValueId> inputs = tape.inputs_of(node);
  const Value& value = tape.value(inputs[edge.input]);
  const Value* factor =
      edge.input + 1 < inputs.size() ? &tape.value(inputs[edge.input + 1]) : nullptr;
  contribute(
      {&type, common_.items_of(edge.consumer), edge.input, &value,
       common_.identity_of({edge.consumer.tape, value.node}), factor,
       factor == nullptr ? nullptr : common_.tapes[edge.consumer.tape].nodes[factor->node].value,
       type.signature.integers == 0 ? std::span<const std::uint32_t>() : tape.integers_of(node),
       edge.slots},
      dy);
}

// Arguments that a type names are the same for all its nodes, so what is found out for one holds
// for all. Not so for stacked arguments that happen to be parameters.
void SharedContributions::describe(TypeContributions& contributions, NodeRef example) {
  const Tape& tape = common_.tape(example);
  const NodeType& type = tape.type_of(example.node);
  const Signature& signature = type.signature;
  contributions.known = contributions.complete = true;
  contributions.all.clear();
  const std::span<const ValueId> inputs = tape.inputs_of(example.node);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    const Value& value = tape.value(inputs[j]);
    if (signature.shared[j] == 0 || value.identity == 0 || !value.reaches_parameter) continue;
    const SharedGradient kind = type.shared_gradients[j];
    const Dim& dim = signature.inputs[j];
    const bool deferred = signature.deferred_size > 0;
    const auto size = static_cast<std::uint32_t>(dim.size());
    Place place{kind, 0, value.offset, size, 1};
    if (kind == SharedGradient::outer_product) {
      place.rows = dim.rows();
      place.columns = dim.cols();
      contributions.complete &= signature.inputs[j + 1].cols() == 1;
    } else if (kind == SharedGradient::rows) {
      place.rows = static_cast<std::uint32_t>(signature.output_size);
    } else {
      contributions.complete &=
          kind == SharedGradient::sum && (deferred || size == signature.output_size);
    }
    const std::size_t offset = deferred ? type.op->gradient.deferred_offset(signature, j) : 0;
    const Identity producer = common_.identity_of({example.tape, value.node});
    contributions.all.push_back(
        {j, target_index(producer), place, offset * size_of(signature.dtype)});
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
  const Tape& tape = common_.tape(consumer);
  const std::span<const ValueId> inputs = tape.inputs_of(consumer.node);
  const std::size_t element = size_of(tape.type_of(consumer.node).signature.dtype);
  for (const TypeContribution& contribution : contributions.all) {
    const std::byte* factor = nullptr;
    std::uint32_t row = 0;
    if (contribution.place.kind == SharedGradient::outer_product) {
      const Value& x = tape.value(inputs[contribution.input + 1]);
      factor = common_.tapes[consumer.tape].nodes[x.node].value + x.offset * element;
    } else if (contribution.place.kind == SharedGradient::rows) {
      row = tape.integers_of(consumer.node)[0];
    }
    add(contribution, dy, factor, row);
  }
  return true;
}

void SharedContributions::contribute(const Consumer& consumer, const std::byte* dy) {
  const NodeType& type = *consumer.type;
  const Signature& signature = type.signature;
  const Value& value = *consumer.value;
  const SharedGradient kind = type.shared_gradients[consumer.input];
  const std::uint32_t size = common_.types().shape(value.shape).size;
  const std::size_t element = size_of(signature.dtype);
  const bool deferred = signature.deferred_size > 0;
  const std::size_t dy_size = deferred ? signature.deferred_size : signature.output_size;
  if (deferred) dy += type.op->gradient.deferred_offset(signature, consumer.input) * element;
  Target& to = target_of(consumer.producer);
  const std::uint32_t items = type.op->is_open(consumer.input) ? 1 : consumer.items;
  for (std::uint32_t item = 0; item < items; ++item, dy += dy_size * element) {
    const std::uint32_t offset = value.offset + (value.items == 1 ? 0 : item * value.stride);
    if (kind == SharedGradient::dense) {
      const std::byte* slot = consumer.slots + std::size_t{item} * size * element;
      to.add({SharedGradient::sum, 0, offset, size, 1}, slot, nullptr);
    } else if (kind == SharedGradient::rows) {
      const auto entry = static_cast<std::uint32_t>(dy_size);
      to.add({kind, consumer.integers[item], offset, entry, 1}, dy, nullptr);
    } else if (kind == SharedGradient::sum) {
      const std::size_t end = deferred ? size : dy_size;
      for (std::size_t at = 0; at < end; at += size) {
        to.add({kind, 0, offset, size, 1}, dy + at * element, nullptr);
      }
    } else {
      const Value& x = *consumer.factor;
      const Dim& matrix = signature.inputs[consumer.input];
      const Place place{kind, 0, offset, matrix.rows(), matrix.cols()};
      const std::byte* factor =
          consumer.factor_node + (x.offset + (x.items == 1 ? 0 : item * x.stride)) * element;
      const std::uint32_t columns = signature.inputs[consumer.input + 1].cols();
      for (std::size_t column = 0; column < columns; ++column) {
        to.add(place, dy + column * place.rows * element,
               factor + column * place.columns * element);
      }
    }
  }
}

}  // namespace dynet_like::detail
