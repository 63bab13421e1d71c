// From the record of a vertex to its program.
#include "dynet_like/exec/recursion_op.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dynet_like/core/errors.h"
#include "dynet_like/exec/product_flops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

constexpr std::uint16_t kNoMember = 0xffff;

/// Node, first element, number of elements, and whether gradients stop there.
using Stretch = std::tuple<NodeId, std::uint32_t, std::uint32_t, bool>;

class Compiler {
 public:
  Compiler(const std::string& name, Tape& tape, const RecordedVertex& recorded,
           SharedArguments& shared)
      : name_(name), tape_(tape), recorded_(recorded), shared_(shared) {}

  VertexProgram run() {
    program_.kind = recorded_.kind;
    const std::vector<NodeId> nodes = nodes_of(tape_, recorded_);
    if (nodes.size() >= kNoMember / 2) {
      refuse("fewer than 32,767 operations in a vertex", std::to_string(nodes.size()));
    }
    member_of_.assign(tape_.size() - recorded_.first, kNoMember);
    for (NodeId node : nodes) add_member(node);
    for (ValueId result : recorded_.results) add_state(result);
    pattern_.ports = static_cast<std::uint32_t>(program_.ports.size());
    refuse_overlaps();
    program_.cell = make_cell_type(std::move(pattern_), tape_.types());
    refuse_too_many();
    if (program_.cell.parts_overlap) {
      refuse("parts of a value that do not overlap", "some that do: read them from a copy, x * 1");
    }
    for (TypeId member : program_.cell.pattern.members) {
      program_.product_flops += product_flops(tape_.types()[member]);
    }
    program_.covers_columns = covers_columns();
    find_hoisted();
    find_sums();
    return std::move(program_);
  }

 private:
  [[noreturn]] void refuse(const std::string& need, const std::string& got) const {
    throw UsageError("[" + name_ + "] need " + need + "; got " + got);
  }
  void add_member(NodeId node);
  void push_member(TypeId type, std::span<const CellInput> inputs,
                   std::span<const std::uint32_t> shared, VertexProgram::MemberNumbers numbers);
  CellInput input_of(ValueId id, std::vector<std::uint32_t>& shared);
  CellInput copy_of(const CellInput& input, std::uint32_t shared = 0);
  std::uint16_t port_of(const Value& value);
  std::uint32_t elements_of(const Value& value) const {
    return tape_.types().shape(value.shape).size;
  }
  void refuse_overlaps() const;
  void refuse_too_many() const;
  void add_state(ValueId result);
  std::vector<bool> covers_columns() const;
  void find_hoisted();
  std::vector<std::uint16_t> backward_order() const;
  void find_sums();

  const std::string& name_;
  Tape& tape_;
  const RecordedVertex& recorded_;
  SharedArguments& shared_;
  VertexProgram program_;
  CellPattern pattern_;
  std::uint16_t& member_at(NodeId node) { return member_of_[node - recorded_.first]; }

  std::vector<std::uint16_t> member_of_;  ///< by node of the vertex
  std::vector<Value> port_values_;
  std::map<Stretch, std::uint16_t> port_at_;
};

void Compiler::add_member(NodeId node) {
  const NodeType& type = tape_.type_of(node);
  const Op& op = *type.op;
  if (op.role == Role::input) {
    refuse("a function whose data are its arguments", "an input made inside: give it as a column");
  }
  if (op.role == Role::row) {
    refuse("a function of columns", "a lookup inside: look up all rows before, as columns");
  }
  if (tape_.items_of(node) != 1 || op.batching.open_inputs != 0) {
    refuse("operations without minibatch dimension", std::string(op.name) + " of several elements");
  }
  VertexProgram::MemberNumbers numbers;
  if (op.numbers.random) {
    numbers.random = program_.random_members++;
    if (numbers.random == RecursionOp::kMostRandom) refuse("at most 64 random operations", "more");
  } else {
    const std::span<const std::uint32_t> integers = tape_.integers_of(node);
    numbers.integers.assign(integers.begin(), integers.end());
  }
  for (unsigned i = 0; i < op.numbers.reals; ++i) numbers.reals.push_back(tape_.real_of(node, i));
  std::vector<CellInput> inputs;
  std::vector<std::uint32_t> shared;
  std::set<std::tuple<From, std::uint16_t, std::uint32_t>> places;
  for (ValueId id : tape_.inputs_of(node)) {
    CellInput input = input_of(id, shared);
    // A call must not contribute twice to one place, in whatever shapes it reads that.
    const bool again = input.from != From::argument &&
                       !places.emplace(input.from, input.index, input.offset).second;
    inputs.push_back(again ? copy_of(input) : input);
  }
  member_at(node) = static_cast<std::uint16_t>(pattern_.members.size());
  push_member(tape_.node(node).type, inputs, shared, std::move(numbers));
}

void Compiler::push_member(TypeId type, std::span<const CellInput> inputs,
                           std::span<const std::uint32_t> shared,
                           VertexProgram::MemberNumbers numbers) {
  if (pattern_.members.size() == kNoMember || inputs.size() > kNoMember) {
    refuse(
        "at most 65,535 operations in a vertex, with copies of what one reads twice, and as "
        "many inputs of each",
        "more");
  }
  pattern_.members.push_back(type);
  pattern_.inputs.insert(pattern_.inputs.end(), inputs.begin(), inputs.end());
  pattern_.first_input.push_back(static_cast<std::uint32_t>(pattern_.inputs.size()));
  program_.shared.insert(program_.shared.end(), shared.begin(), shared.end());
  program_.numbers.push_back(std::move(numbers));
}

CellInput Compiler::copy_of(const CellInput& input, std::uint32_t shared) {
  const InputKey key = input_key(input.shape, 0);
  const NodeType& type = tape_.cache().type(ops::identity, std::span(&key, 1), {});
  push_member(type.id, std::span(&input, 1), std::span(&shared, 1), {});
  return {From::member, input.blocks_gradient,
          static_cast<std::uint16_t>(pattern_.members.size() - 1), 0, input.shape};
}

CellInput Compiler::input_of(ValueId id, std::vector<std::uint32_t>& shared) {
  const Value& value = tape_.value(id);
  CellInput input{From::argument, value.blocks_gradient, 0, 0, value.shape};
  shared.push_back(0);
  if (value.identity != 0) {
    if (tape_.type_of(value.node).op->role == Role::table) {
      refuse("a function of columns", "a table inside: look up all rows before, as columns");
    }
    // Values of one identity are one argument.
    const auto known = std::find_if(shared_.begin(), shared_.end(), [&](ValueId other) {
      return tape_.value(other).identity == value.identity;
    });
    shared.back() = static_cast<std::uint32_t>(known - shared_.begin());
    if (known == shared_.end()) shared_.push_back(id);
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

// The same elements are one port in all shapes: what they get is one sum.
std::uint16_t Compiler::port_of(const Value& value) {
  const auto [known, is_new] =
      port_at_.try_emplace({value.node, value.offset, elements_of(value), value.blocks_gradient},
                           static_cast<std::uint16_t>(port_values_.size()));
  if (!is_new) return known->second;
  if (port_values_.size() == kNoMember) {
    refuse("at most 65,535 different values from outside in a vertex", "more");
  }
  VertexProgram::Port port;
  port.offset = value.offset;
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
  port_values_.push_back(value);
  return known->second;
}

// Two calls could add to one element of a gradient at once. Of values that do not overlap, each
// ends where the next begins, or before.
void Compiler::refuse_overlaps() const {
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

// Parts and slots have numbers of 16 bits.
void Compiler::refuse_too_many() const {
  const CellType& cell = program_.cell;
  if (cell.slots.size() > CellGradient::kNoSlot) {
    refuse("at most 65,535 contributions to gradients that wait in a vertex", "more");
  }
  for (const CellMember& member : cell.members) {
    if (member.parts.size() > kNoMember) refuse("at most 65,535 parts of a value", "more");
  }
}

// What follows from parameters alone is copied, so that every vertex has its own.
void Compiler::add_state(ValueId result) {
  const Value& value = tape_.value(result);
  if (value.identity == 0) {
    program_.states.push_back({member_at(value.node), value.offset});
    return;
  }
  if (value.items != 1) {
    refuse("states without minibatch dimension", to_string(tape_.dim_of(result)));
  }
  std::vector<std::uint32_t> shared;
  const CellInput input = input_of(result, shared);
  program_.states.push_back({copy_of(input, shared[0]).index, 0});
}

std::vector<bool> Compiler::covers_columns() const {
  std::vector<std::size_t> covered(recorded_.columns.size(), 0);
  for (std::size_t p = 0; p < port_values_.size(); ++p) {
    const VertexProgram::Port& port = program_.ports[p];
    if (!port.is_state && !port.blocks_gradient) {
      covered[port.index] += elements_of(port_values_[p]);
    }
  }
  std::vector<bool> covers;
  for (std::size_t i = 0; i < covered.size(); ++i) {
    covers.push_back(covered[i] == tape_.shape_of(recorded_.columns[i]).size);
  }
  return covers;
}

// Steps stand behind those that they read.
void Compiler::find_hoisted() {
  const CellType& cell = program_.cell;
  program_.hoisted.assign(cell.steps.size(), true);
  for (std::size_t s = 0; s < cell.steps.size(); ++s) {
    for (std::uint16_t m : cell.steps[s].members) {
      for (const CellInput& input : cell.pattern.inputs_of(m)) {
        const bool depends =
            (input.from == From::port && program_.ports[input.index].is_state) ||
            (input.from == From::member && !program_.hoisted[cell.members[input.index].step]);
        if (depends) program_.hoisted[s] = false;
      }
    }
  }
}

// What is hoisted runs when all levels have.
std::vector<std::uint16_t> Compiler::backward_order() const {
  std::vector<std::uint16_t> order = program_.cell.backward;
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint16_t s) { return !program_.hoisted[s]; });
  return order;
}

// What a state's gradient brings is there before anything in the vertex contributes. Apart from
// that, contributions come in the order of the backward pass.
void Compiler::find_sums() {
  const CellType& cell = program_.cell;
  const CellPattern& pattern = cell.pattern;
  program_.clears.assign(pattern.size(), false);
  program_.adds.assign(pattern.inputs.size(), false);
  program_.adds_once.assign(recorded_.columns.size(), true);
  std::vector<std::size_t> state_elements(pattern.size(), 0);
  std::vector<bool> is_state(pattern.size(), false);
  for (std::size_t s = 0; s < program_.states.size(); ++s) {
    const VertexProgram::State& state = program_.states[s];
    is_state[state.member] = true;
    if (!cell.members[state.member].parts.empty()) program_.adds_to_states = true;
    const std::uint32_t size = tape_.shape_of(recorded_.results[s]).size;
    state_elements[state.member] += size;
    for (std::size_t t = 0; t < s; ++t) {
      const VertexProgram::State& other = program_.states[t];
      const std::uint32_t other_size = tape_.shape_of(recorded_.results[t]).size;
      if (other.member == state.member && other.offset < state.offset + size &&
          state.offset < other.offset + other_size) {
        program_.clears[state.member] = program_.adds_to_states = program_.states_overlap = true;
      }
    }
  }
  for (std::size_t m = 0; m < pattern.size(); ++m) {
    const std::size_t size = tape_.types()[pattern.members[m]].output_size;
    if (is_state[m] ? state_elements[m] != size : !cell.members[m].is_covered) {
      program_.clears[m] = true;
    }
  }
  std::vector<std::vector<bool>> begun(pattern.size());
  std::vector<bool> port_begun(cell.ports.size(), false);
  for (std::size_t m = 0; m < pattern.size(); ++m) {
    begun[m].assign(cell.members[m].parts.size(), is_state[m] || program_.clears[m]);
  }
  for (std::uint16_t s : backward_order()) {
    for (std::uint16_t m : cell.steps[s].members) {
      for (std::uint32_t e = pattern.first_input[m]; e < pattern.first_input[m + 1]; ++e) {
        const CellInput& input = pattern.inputs[e];
        if (input.blocks_gradient || input.from == From::argument) continue;
        auto has_begun = input.from == From::port ? port_begun[input.index]
                                                  : begun[input.index][cell.gradients[e].part];
        program_.adds[e] = has_begun;
        const bool is_column = input.from == From::port && !program_.ports[input.index].is_state;
        if (has_begun && is_column) program_.adds_once[program_.ports[input.index].index] = false;
        has_begun = true;
      }
    }
  }
}

}  // namespace

// Whatever other kinds there are: which were met before must not change what is drawn.
std::uint32_t RecursionOp::most_random(const Vertices& vertices) const {
  const bool draws = std::ranges::any_of(
      vertices.kinds, [&](const VertexKind& kind) { return find(kind)->random_members > 0; });
  return draws ? kMostRandom : 0;
}

std::size_t RecursionOp::bytes_of_vertex(const VertexKind& kind, bool inference) const {
  const VertexProgram* const program = find(kind);
  std::size_t bytes = 0;
  for (TypeId member : program->cell.pattern.members) {
    const NodeType& type = (*types)[member];
    const Signature& signature = type.signature;
    std::size_t elements = signature.output_size + signature.saved_size;
    if (!inference) elements += signature.output_size + signature.deferred_size;
    bytes += elements * size_of(dtype) + 2 * type.inputs * sizeof(void*);
    for (const Dim& dim : signature.inputs) {
      if (!inference) bytes += dim.size() * size_of(dtype);  // slots
    }
  }
  return bytes;
}

bool RecursionOp::covers(const Vertices& vertices, std::size_t input, std::size_t elements) const {
  const std::size_t columns = is_start(input) ? 1 : vertices.matrix(input).columns;
  return reads_once(vertices, input) && columns * column_sizes[input] == elements &&
         std::ranges::all_of(vertices.kinds, [&](const VertexKind& kind) {
           return !reads(kind, input) || find(kind)->covers_columns[input];
         });
}

bool RecursionOp::adds_once(const Vertices& vertices, std::size_t input,
                            std::size_t elements) const {
  return covers(vertices, input, elements) &&
         std::ranges::all_of(vertices.kinds, [&](const VertexKind& kind) {
           return !reads(kind, input) || find(kind)->adds_once[input];
         });
}

std::size_t RecursionOp::place_of(const VertexKind& kind) const {
  const auto kind_of = [](const auto& program) { return program->kind; };
  const auto found = std::ranges::lower_bound(programs, kind, {}, kind_of);
  const bool is_there = found != programs.end() && (*found)->kind == kind;
  return static_cast<std::size_t>((is_there ? found : programs.end()) - programs.begin());
}

// Parameters may have been frozen since: types, which name them, differ then.
bool does_the_same(const VertexProgram& a, const VertexProgram& b, const TypeTable& types) {
  const CellPattern &p = a.cell.pattern, &q = b.cell.pattern;
  const auto same_type = [&](TypeId m, TypeId n) {
    const Signature &s = types[m].signature, &t = types[n].signature;
    return s.op == t.op && s.attributes == t.attributes && s.inputs == t.inputs;
  };
  const auto same_input = [](const CellInput& i, const CellInput& j) {
    return i.from == j.from && i.index == j.index && i.offset == j.offset;
  };
  return std::ranges::equal(p.members, q.members, same_type) &&
         std::ranges::equal(p.inputs, q.inputs, same_input) && a.ports == b.ports &&
         a.states == b.states && a.numbers == b.numbers;
}

VertexProgram make_vertex_program(const std::string& name, Tape& tape,
                                  const RecordedVertex& recorded, SharedArguments& shared) {
  return Compiler(name, tape, recorded, shared).run();
}

}  // namespace dynet_like::detail
