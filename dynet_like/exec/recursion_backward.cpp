// Recursions backward: levels in reverse, and what their vertices contribute to shared inputs.
#include <algorithm>

#include "dynet_like/exec/backward_pass.h"
#include "dynet_like/exec/recursion_run.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

bool is_wanted(const Destination& dx, std::size_t n) {
  return std::any_of(dx.items, dx.items + n, [](void* to) { return to != nullptr; });
}

}  // namespace

void RecursionRun::backward(BackwardPass& pass, std::span<const NodeRef> members) {
  begin_backward(pass, members);
  clear_columns();
  for (const Kind& kind : kinds_) clear_gradients(kind);
  run_.queue->finish_sums();
  for (std::size_t k = 0; k < kinds_.size(); ++k) bring_state_gradients(k);
  run_copies();
  for (std::uint32_t level = levels_; level-- > 0;) {
    add_waiting(waiting_states_[level]);
    const std::span<const OfKind> all = of_level(level);
    for (std::size_t i = all.size(); i-- > 0;) {
      run_backward(kinds_[all[i].kind], all[i].rows, false);
    }
  }
  for (std::size_t k = kinds_.size(); k-- > 0;) run_backward(kinds_[k], all_rows(kinds_[k]), true);
  add_waiting(waiting_columns_);
  is_complete_ = levels_ == 1 && std::ranges::none_of(kinds_, [](const Kind& kind) {
                   return kind.program->adds_to_states;
                 });
  if (run_.options.verify_batching) complete_gradients();
}

// What came from outside is there already, and is a part of the sum.
void RecursionRun::complete_gradients() {
  if (is_complete_) return;
  copy_states(&StateBlock::dy, &Member::gradient);
  run_.queue->submit();
  is_complete_ = true;
}

void RecursionRun::begin_backward(BackwardPass& pass, std::span<const NodeRef> members) {
  has_inactive_ = false;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    const bool active = members[m].node != kNone && pass.plan.nodes.at(member.ref).active;
    has_inactive_ |= !active;
    member.gradient = active ? pass.at(pass.plan.nodes.at(member.ref).place) : nullptr;
    for (std::uint32_t i = 0; i < inputs(); ++i) {
      Columns& columns = columns_of(m, i);
      columns.gradient = nullptr;
      if (!active) continue;
      const std::uint32_t edge = run_.tape(member.ref).node(member.ref.node).first_edge + i;
      const EdgeGradient& of_edge = pass.plan.nodes.edges(member.ref.tape)[edge];
      columns.gradient = pass.at(of_edge.place);
      columns.adds = of_edge.contribution == Contribution::added;
    }
  }
  for (Kind& kind : kinds_) {
    for (Step& step : kind.steps) {
      const std::size_t items = kind.rows.size() * step.members;
      step.dy = run_.recursions.gradients.allocate_array<std::byte>(items * step.stride);
      step.deferred =
          step.deferred_stride == 0
              ? nullptr
              : run_.recursions.gradients.allocate_array<std::byte>(items * step.deferred_stride);
      step.slots.assign(step.type->inputs, nullptr);
    }
  }
  find_state_blocks();
  // A pass that an exception ended may have left some.
  copies_.clear();
  waiting_states_.assign(levels_, {});
  waiting_columns_.clear();
}

// Where not every element of every column gets just one contribution, they are added to zeros.
void RecursionRun::clear_columns() {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    for (std::size_t i = 0; i < inputs(); ++i) clear_columns(m, i);
  }
  run_.queue->finish_sums();
}

void RecursionRun::clear_columns(std::size_t m, std::size_t i) {
  Columns& columns = columns_of(m, i);
  if (columns.gradient == nullptr || columns.adds) return;
  const Vertices& vertices = *members_[m].vertices;
  const Tape& tape = run_.tape(members_[m].ref);
  const std::uint32_t size = tape.shape_of(tape.inputs_of(members_[m].ref.node)[i]).size;
  if (op_.covers(vertices, i, size)) return;
  run_.queue->add_all(op_.dtype, columns.gradient, size, {}, SumStart::zero);
  columns.adds = true;
}

void RecursionRun::run_backward(Kind& kind, Range rows, bool hoisted) {
  for (std::uint16_t s : kind.program->cell.backward) {
    if (kind.program->hoisted[s] == hoisted) run_step_backward(kind, s, rows);
  }
}

// A node without gradient stands for zeros.
void RecursionRun::clear_gradients(const Kind& kind) {
  const VertexProgram& program = *kind.program;
  for (std::size_t s = 0; s < kind.steps.size(); ++s) {
    const Step& step = kind.steps[s];
    const std::vector<std::uint16_t>& members = program.cell.steps[s].members;
    const bool clears = std::any_of(members.begin(), members.end(),
                                    [&](std::uint16_t m) { return program.clears[m]; });
    if (!clears && !has_inactive_) continue;
    const std::size_t elements = step.rows * step.members * step.stride / element_;
    run_.queue->add_all(op_.dtype, step.dy, elements, {}, SumStart::zero);
  }
}

// What the states of all vertices have got from outside; what successors contribute is added.
void RecursionRun::bring_state_gradients(std::size_t k) {
  const Kind& kind = kinds_[k];
  const VertexProgram& program = *kind.program;
  for (std::uint32_t s = 0; s < program.states.size(); ++s) {
    // States that overlap are added by calls of their own.
    const bool adds = program.clears[program.states[s].member];
    if (adds) run_copies();
    const StateBlock& states = states_of(k, s);
    for (std::uint32_t row = 0; row < kind.rows.size(); ++row) {
      const Member& member = members_[kind.rows[row].member];
      if (member.gradient == nullptr) continue;
      copies_.add(op_.state_sizes[s], state_in(member.gradient, member, kind.rows[row].vertex, s),
                  states.dy + row * states.stride, adds);
    }
  }
}

void RecursionRun::run_step_backward(Kind& kind, std::size_t s, Range rows) {
  Step& step = kind.steps[s];
  const Signature& signature = step.type->signature;
  const Op& op = *signature.op;
  lists_.reset();
  BackwardCall call;
  call.type = &signature;
  call.n = (rows.end - rows.begin) * step.members;
  auto* const dx = lists_.allocate_array<Destination>(step.in.size());
  bool wanted = step.deferred != nullptr;
  for (unsigned j = 0; j < step.in.size(); ++j) {
    dx[j] = destination(kind, s, j, rows);
    if (dx[j].wanted() && !is_wanted(dx[j], call.n)) dx[j] = {};
    wanted |= dx[j].wanted();
  }
  if (!wanted) return;
  if (run_.options.detect_anomaly) {
    const std::size_t first = rows.begin * step.members;
    check_finite(kind, s, step.dy + first * step.stride, rows, "gradient");
  }
  if (op.needs_inputs()) call.in = inputs_backward(kind, s, rows, dx);
  if (op.needs_output()) call.out.items = places(step, step.out, step.stride, rows);
  if (step.saved != nullptr) call.saved.items = places(step, step.saved, step.saved_stride, rows);
  call.dy.items = places(step, step.dy, step.stride, rows);
  call.dx = dx;
  if (step.deferred != nullptr) {
    call.deferred = places(step, step.deferred, step.deferred_stride, rows);
  }
  const std::size_t first = rows.begin * step.members;
  if (step.integers != nullptr) call.integers = step.integers + first * signature.integers;
  if (step.reals != nullptr) {
    call.reals = static_cast<const std::byte*>(step.reals) + first * op.numbers.reals * element_;
  }
  call.random = run_.random;
  TypeCount& counts = run_.counts.of_types[type_];
  const KernelTime time(run_, counts.seconds);
  run_.queue->backward(step.kernels->backward[static_cast<int>(op_.dtype)], call);
  ++counts.backward_calls;
}

const Operand* RecursionRun::inputs_backward(Kind& kind, std::size_t s, Range rows,
                                             const Destination* dx) {
  const CellType& cell = kind.program->cell;
  Step& step = kind.steps[s];
  auto* const in = lists_.allocate_array<Operand>(step.in.size());
  for (unsigned j = 0; j < step.in.size(); ++j) {
    in[j] = step.in[j];
    in[j].packed = nullptr;
    if (in[j].items != nullptr) {
      in[j].items += rows.begin * step.members;
    } else if (j + 1 < step.in.size() && dx[j + 1].wanted()) {
      const std::uint32_t e = cell.pattern.first_input[cell.steps[s].members[0]] + j;
      in[j].packed = packed_transpose(run_, shared_matrix(*step.type, j, kind.program->shared[e]));
    }
  }
  return in;
}

void* const* RecursionRun::places(const Step& step, std::byte* block, std::size_t stride,
                                  Range rows) {
  const std::size_t first = rows.begin * step.members;
  const std::size_t n = (rows.end - rows.begin) * step.members;
  auto** const all = lists_.allocate_array<void*>(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = block + (first + i) * stride;
  return all;
}

Destination RecursionRun::destination(Kind& kind, std::size_t s, unsigned j, Range rows) {
  const VertexProgram& program = *kind.program;
  const CellType& cell = program.cell;
  Step& step = kind.steps[s];
  const std::size_t n = (rows.end - rows.begin) * step.members;
  auto** const to = lists_.allocate_array<void*>(n);
  auto* const add = lists_.allocate_array<std::uint8_t>(n);
  for (std::size_t p = 0; p < step.members; ++p) {
    const std::uint32_t e = cell.pattern.first_input[cell.steps[s].members[p]] + j;
    const CellInput& input = cell.pattern.inputs[e];
    const Contributions all{step, j, p, rows, to, add};
    for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
      to[all.index(row)] = nullptr;
      add[all.index(row)] = program.adds[e];
    }
    if (input.from == From::argument) {
      const bool writes = step.type->shared_gradients[j] == SharedGradient::dense &&
                          shared_[program.shared[e]].value.reaches_parameter;
      for (std::uint32_t row = rows.begin; row < rows.end && writes; ++row) {
        to[all.index(row)] = slot(step, j, row, p);
      }
    } else if (input.blocks_gradient) {
      continue;
    } else if (input.from == From::member) {
      const CellMember& from = cell.members[input.index];
      const Step& producer = kind.steps[from.step];
      for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
        to[all.index(row)] =
            item(producer, producer.dy, producer.stride, row, from.place) + input.offset * element_;
      }
    } else {
      const VertexProgram::Port& port = program.ports[input.index];
      if (port.blocks_gradient) continue;
      port.is_state ? to_state(kind, port, all) : to_column(kind, port, all);
    }
  }
  return {to, add};
}

void RecursionRun::to_column(const Kind& kind, const VertexProgram::Port& port,
                             const Contributions& all) {
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const auto& [m, v] = kind.rows[row];
    const Columns& columns = columns_of(m, port.index);
    if (members_[m].gradient == nullptr || columns.gradient == nullptr) continue;
    const std::size_t i = all.index(row);
    const std::size_t begin = begin_of_column(kind.rows[row], port.index);
    all.to[i] = columns.gradient + begin + port.offset * element_;
    all.add[i] |= static_cast<std::uint8_t>(columns.adds);
    if (!op_.reads_once(*members_[m].vertices, port.index)) {
      wait_for_others(all, row, v, waiting_columns_);
    }
  }
}

void RecursionRun::to_state(const Kind& kind, const VertexProgram::Port& port,
                            const Contributions& all) {
  const std::size_t predecessors = kind.program->kind.predecessors;
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const auto& [m, v] = kind.rows[row];
    const Member& member = members_[m];
    if (member.gradient == nullptr) continue;
    const std::uint32_t before = kind.before[row * predecessors + port.predecessor];
    const StateBlock& states = states_of(places_[before].kind, port.index);
    const std::size_t i = all.index(row);
    all.to[i] = states.dy + places_[before].row * states.stride + port.offset * element_;
    all.add[i] = 1;
    const std::uint32_t vertex = before - member.first_vertex;
    if (member.vertices->successors[vertex] > 1 ||
        kinds_[places_[before].kind].program->states_overlap) {
      wait_for_others(all, row, v, waiting_states_[member.vertices->level[vertex]]);
    }
  }
}

// Where a place has several contributors that may run in one call, each has a slot.
void RecursionRun::wait_for_others(const Contributions& all, std::uint32_t row,
                                   std::uint32_t vertex, std::vector<Waiting>& waiting) {
  const std::size_t i = all.index(row);
  auto* const sum = static_cast<std::byte*>(all.to[i]);
  std::byte* const waits = slot(all.step, all.input, row, all.place);
  const auto size = static_cast<std::uint32_t>(all.step.type->signature.inputs[all.input].size());
  waiting.push_back({sum, vertex, size, waits});
  all.to[i] = waits;
  all.add[i] = 0;
}

std::byte* RecursionRun::slot(Step& step, unsigned j, std::uint32_t row, std::size_t place) {
  const std::size_t bytes = step.type->signature.inputs[j].size() * element_;
  if (step.slots[j] == nullptr) {
    step.slots[j] =
        run_.recursions.gradients.allocate_array<std::byte>(step.rows * step.members * bytes);
  }
  return item(step, step.slots[j], bytes, row, place);
}

// The contributions of a successor stand in the order of its program, those of several in that of
// the vertices.
void RecursionRun::add_waiting(std::vector<Waiting>& waiting) {
  std::stable_sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
    return a.sum != b.sum ? a.sum < b.sum : a.successor < b.successor;
  });
  std::vector<const void*> addends;
  for (std::size_t i = 0, end; i < waiting.size(); i = end) {
    addends.clear();
    for (end = i; end < waiting.size() && waiting[end].sum == waiting[i].sum &&
                  waiting[end].size == waiting[i].size;
         ++end) {
      addends.push_back(waiting[end].addend);
    }
    // Sums of states that overlap follow one another.
    if (i > 0 && waiting[i].sum < waiting[i - 1].sum + waiting[i - 1].size * element_) {
      run_.queue->finish_sums();
    }
    run_.queue->add_all(op_.dtype, waiting[i].sum, waiting[i].size,
                        {addends.data(), nullptr, addends.size()});
  }
  run_.queue->finish_sums();
}

// Kind by kind in an order that does not depend on which the program met first, argument by
// argument, vertex by vertex.
void RecursionRun::contribute(NodeRef ref, SharedContributions& to) const {
  // Their outputs lie one behind the other.
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), run_.state(ref).value,
                       [](const Member& member, const std::byte* out) { return member.out < out; });
  const auto places = std::span(places_).subspan(found->first_vertex, found->vertices->size());
  std::vector<Place> by_kind(places.begin(), places.end());
  if (!std::ranges::is_sorted(by_kind, {}, &Place::kind)) {
    std::ranges::stable_sort(by_kind, {}, &Place::kind);
  }
  std::vector<std::uint32_t> rows;
  for (auto place = by_kind.begin(); place != by_kind.end();) {
    const Kind& kind = kinds_[place->kind];
    rows.clear();
    for (const std::uint32_t k = place->kind; place != by_kind.end() && place->kind == k; ++place) {
      rows.push_back(place->row);
    }
    const CellType& cell = kind.program->cell;
    for (std::size_t s = 0; s < kind.steps.size(); ++s) {
      for (std::size_t p = 0; p < kind.steps[s].members; ++p) {
        const std::uint32_t first = cell.pattern.first_input[cell.steps[s].members[p]];
        for (unsigned j = 0; j < kind.steps[s].in.size(); ++j) {
          if (cell.pattern.inputs[first + j].from != From::argument) continue;
          contribute(kind.steps[s], j, p, kind.program->shared[first + j], rows, to);
        }
      }
    }
  }
}

void RecursionRun::contribute(const Step& step, unsigned j, std::size_t place, std::uint32_t shared,
                              std::span<const std::uint32_t> rows, SharedContributions& to) const {
  const Value& value = shared_[shared].value;
  if (!value.reaches_parameter) return;
  const Signature& signature = step.type->signature;
  const SharedGradient kind = step.type->shared_gradients[j];
  const bool deferred = step.deferred != nullptr;
  const std::size_t dy_size = deferred ? signature.deferred_size : signature.output_size;
  const std::byte* dy = deferred ? step.deferred : step.dy;
  if (deferred) dy += signature.op->gradient.deferred_offset(signature, j) * element_;
  const Dim& dim = signature.inputs[j];
  const auto size = static_cast<std::uint32_t>(dim.size());
  SharedContributions::Target& target = to.target_of(shared_[shared].producer);
  for (std::uint32_t row : rows) {
    const std::size_t i = row * step.members + place;
    const std::byte* const dy_i = dy + i * dy_size * element_;
    if (kind == SharedGradient::dense) {
      target.add({SharedGradient::sum, 0, value.offset, size, 1},
                 step.slots[j] + i * size * element_, nullptr);
    } else if (kind == SharedGradient::sum) {
      const std::size_t end = deferred ? size : dy_size;
      for (std::size_t at = 0; at < end; at += size) {
        target.add({kind, 0, value.offset, size, 1}, dy_i + at * element_, nullptr);
      }
    } else {
      const auto* const x = step.in[j + 1].at<std::byte>(i);
      const std::uint32_t rows_of_matrix = dim.rows(), columns = dim.cols();
      for (unsigned column = 0; column < signature.inputs[j + 1].cols(); ++column) {
        target.add({kind, 0, value.offset, rows_of_matrix, columns},
                   dy_i + std::size_t{column} * rows_of_matrix * element_,
                   x + std::size_t{column} * columns * element_);
      }
    }
  }
}

}  // namespace dynet_like::detail
