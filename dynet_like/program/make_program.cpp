// Turns the record of a vertex into members, ports and results; passes do the rest.
#include "dynet_like/program/make_program.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/program/passes.h"
#include "dynet_like/program/product_flops.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

constexpr std::uint16_t kNoMember = 0xffff;

/// Node, first element, number of elements, and whether gradients stop there.
using Stretch = std::tuple<NodeId, std::uint32_t, std::uint32_t, bool>;

class Maker {
 public:
  Maker(const std::string& name, const Tape& tape, const RecordedVertex& recorded,
        SharedArguments& shared)
      : name_(name), tape_(tape), recorded_(recorded), shared_(shared) {}

  Program run() {
    program_.kind = recorded_.kind;
    program_.draws = recorded_.draws;
    const std::vector<NodeId> nodes = nodes_of(tape_, recorded_);
    if (nodes.size() >= kNoMember / 2) {
      refuse("fewer than 32,767 operations in a vertex", std::to_string(nodes.size()));
    }
    member_of_.assign(tape_.size() - recorded_.first, kNoMember);
    for (NodeId node : nodes) add_member(node);
    for (ValueId result : recorded_.results) add_result(result);
    const Sums sums(program_, tape_.types());
    refuse_overlaps();
    order_steps(program_, sums);
    find_early_products(program_, sums, tape_.types());
    std::vector<std::uint32_t> columns;
    for (ValueId column : recorded_.columns) columns.push_back(tape_.shape_of(column).size);
    plan_sums(program_, sums, tape_.types(), columns);
    return std::move(program_);
  }

 private:
  [[noreturn]] void refuse(const std::string& need, const std::string& got) const {
    throw UsageError("[" + name_ + "] need " + need + "; got " + got);
  }
  void refuse_operation(NodeId node) const;
  void add_member(NodeId node);
  void push_member(TypeId type, std::span<const Program::Input> inputs, Program::Numbers numbers);
  Program::Input input_of(ValueId id);
  std::uint32_t argument_of(ValueId id);
  std::uint32_t port_of(const Value& value);
  std::uint32_t elements_of(const Value& value) const {
    return tape_.types().shape(value.shape).size;
  }
  void refuse_overlaps() const;
  bool is_alone(ValueId result) const;
  void add_result(ValueId result);
  std::uint16_t& member_at(NodeId node) { return member_of_[node - recorded_.first]; }

  const std::string& name_;
  const Tape& tape_;
  const RecordedVertex& recorded_;
  SharedArguments& shared_;
  Program program_;
  std::vector<std::uint16_t> member_of_;  ///< by node of the vertex
  std::map<Stretch, std::uint32_t> port_at_;
};

void Maker::refuse_operation(NodeId node) const {
  const Op& op = *tape_.type_of(node).op;
  if (op.role == Role::input) {
    refuse("a function whose data are its arguments", "an input made inside: give it as a column");
  }
  if (op.role == Role::row) {
    refuse("a function of columns", "a lookup inside: look up all rows before, as columns");
  }
  if (tape_.items_of(node) != 1 || op.batching.open_inputs != 0) {
    refuse("operations without minibatch dimension", std::string(op.name) + " of several elements");
  }
}

void Maker::add_member(NodeId node) {
  refuse_operation(node);
  const Op& op = *tape_.type_of(node).op;
  Program::Numbers numbers;
  if (op.numbers.random) {
    numbers.random = recorded_.draw.at(node);
  } else {
    const std::span<const std::uint32_t> integers = tape_.integers_of(node);
    numbers.integers.assign(integers.begin(), integers.end());
  }
  for (unsigned i = 0; i < op.numbers.reals; ++i) numbers.reals.push_back(tape_.real_of(node, i));
  std::vector<Program::Input> inputs;
  for (ValueId id : tape_.inputs_of(node)) {
    inputs.push_back(input_of(id));
    inputs.back().turn = turn_of(recorded_, node, inputs.size() - 1);
  }
  member_at(node) = static_cast<std::uint16_t>(program_.members.size());
  push_member(tape_.node(node).type, inputs, std::move(numbers));
  program_.product_flops += product_flops(tape_.type_of(node));
}

void Maker::push_member(TypeId type, std::span<const Program::Input> inputs,
                        Program::Numbers numbers) {
  if (program_.members.size() == kNoMember) refuse("at most 65,535 operations in a vertex", "more");
  Program::Member member;
  member.type = type;
  member.first_input = static_cast<std::uint32_t>(program_.inputs.size());
  member.inputs = static_cast<std::uint32_t>(inputs.size());
  member.numbers = std::move(numbers);
  program_.inputs.insert(program_.inputs.end(), inputs.begin(), inputs.end());
  program_.members.push_back(std::move(member));
}

Program::Input Maker::input_of(ValueId id) {
  const Value& value = tape_.value(id);
  Program::Input input{From::argument, value.blocks_gradient, 0, 0, value.shape};
  if (value.identity != 0) {
    input.index = argument_of(id);
  } else if (is_inner(recorded_, value)) {
    input.from = From::member;
    input.index = member_at(value.node);
    input.offset = value.offset;
  } else {
    input.from = From::port;
    input.index = port_of(value);
  }
  return input;
}

// Values with the same identity are one argument.
std::uint32_t Maker::argument_of(ValueId id) {
  const Value& value = tape_.value(id);
  if (tape_.type_of(value.node).op->role == Role::table) {
    refuse("a function of columns", "a table inside: look up all rows before, as columns");
  }
  const auto known = std::ranges::find_if(
      shared_, [&](ValueId other) { return tape_.value(other).identity == value.identity; });
  const auto index = static_cast<std::uint32_t>(known - shared_.begin());
  if (known == shared_.end()) shared_.push_back(id);
  return index;
}

// The same elements are one port in all shapes, because their contributions form one sum.
std::uint32_t Maker::port_of(const Value& value) {
  const auto [known, is_new] =
      port_at_.try_emplace({value.node, value.offset, elements_of(value), value.blocks_gradient},
                           static_cast<std::uint32_t>(program_.ports.size()));
  if (!is_new) return known->second;
  Program::Port port;
  port.offset = value.offset;
  port.elements = elements_of(value);
  port.blocks_gradient = value.blocks_gradient;
  port.is_state = is_state(recorded_, value.node);
  if (port.is_state) {
    const auto states = static_cast<std::uint32_t>(recorded_.states.size() /
                                                   std::max(recorded_.kind.predecessors, 1u));
    const auto i = static_cast<std::uint32_t>(state_at(recorded_, value.node));
    port.predecessor = i / states;
    port.index = i % states;
  } else {
    port.index = static_cast<std::uint32_t>(column_at(recorded_, value.node));
  }
  program_.ports.push_back(port);
  return known->second;
}

// Otherwise two calls could add to one element of a gradient at the same time. Parts are sorted, so
// each must end before the next begins.
void Maker::refuse_overlaps() const {
  const Stretch* before = nullptr;
  for (const auto& [stretch, port] : port_at_) {
    const auto& [node, begin, size, blocks] = stretch;
    if (blocks) continue;
    if (before != nullptr && std::get<0>(*before) == node) {
      const std::uint32_t other = std::get<1>(*before), end = other + std::get<2>(*before);
      if (begin < end) {
        refuse("parts of an argument that do not overlap",
               "elements " + std::to_string(begin) + " to " + std::to_string(begin + size) +
                   " and " + std::to_string(other) + " to " + std::to_string(end) +
                   ": read them from a copy, x * 1");
      }
    }
    before = &stretch;
  }
}

// Whether no other result contains elements of this one.
bool Maker::is_alone(ValueId id) const {
  const Value& value = tape_.value(id);
  return std::ranges::none_of(recorded_.results,
                              [&](ValueId other_id) {
                                const Value& other = tape_.value(other_id);
                                return other_id != id && other.node == value.node &&
                                       other.offset < value.offset + elements_of(value) &&
                                       value.offset < other.offset + elements_of(other);
                              }) &&
         std::ranges::count(recorded_.results, id) == 1;
}

// A result that is not a whole part of a member's output is copied. So are values of parameters
// alone, and elements of several results.
void Maker::add_result(ValueId id) {
  const Value& value = tape_.value(id);
  if (value.identity == 0) {
    const auto size = static_cast<std::uint32_t>(part_size(tape_.type_of(value.node).signature));
    if (value.offset % size == 0 && elements_of(value) == size && is_alone(id)) {
      return program_.results.push_back({member_at(value.node), value.offset / size});
    }
  } else if (value.items != 1) {
    refuse("states without minibatch dimension", to_string(tape_.dim_of(id)));
  }
  Program::Input input = input_of(id);
  input.turn = turn_of(recorded_, static_cast<NodeId>(tape_.size()), program_.results.size());
  const InputKey key = input_key(value.shape, 0);
  const NodeType& type = tape_.cache().type(ops::identity, std::span(&key, 1), {});
  program_.results.push_back({static_cast<std::uint32_t>(program_.members.size()), 0});
  push_member(type.id, std::span(&input, 1), {});
}

}  // namespace

Program make_program(const std::string& name, const Tape& tape, const RecordedVertex& recorded,
                     SharedArguments& shared) {
  return Maker(name, tape, recorded, shared).run();
}

}  // namespace dynet_like::detail
