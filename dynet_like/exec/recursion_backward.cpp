// Recursions backward: levels in reverse, and contributions of vertices to shared inputs.
#include <algorithm>

#include "dynet_like/exec/recursion.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;
using Row = VertexRows::Row;

bool is_wanted(const Destination& dx, std::size_t n) {
  return std::any_of(dx.items, dx.items + n, [](void* to) { return to != nullptr; });
}

/// The backward pass of one recursion.
class Pass {
 public:
  Pass(RunState& run, RecursionBatch& of, const PassGradients& gradients)
      : run_(run), of_(of), left_(of.contributions), gradients_(gradients) {}

  void run(std::span<const NodeRef> nodes) {
    begin(nodes);
    clear_columns();
    for (std::size_t k = 0; k < slots_.size(); ++k) clear_gradients(k);
    if (of_.rows.repeats()) gather_repeated();
    run_.queue->finish_sums();
    for (std::uint32_t level = of_.rows.levels(); level-- > 0;) {
      add(waiting_states_[level]);
      const std::span<const VertexRows::OfKind> all = of_.rows.of_level(level);
      for (std::size_t i = all.size(); i-- > 0;) run_steps(all[i].kind, all[i].rows, false);
    }
    run_early_products();
    for (std::size_t k = slots_.size(); k-- > 0;) run_steps(k, kind(k).all_rows(), true);
    add(waiting_columns_);
    for (auto& addends : left_.column_addends) sort_for_addition(addends, of_.element);
    left_.readers.assign(slots_.size(), {});
    for (std::size_t k = 0; k < slots_.size(); ++k) describe_readers(k);
  }

 private:
  /// The gradient of a matrix whose columns vertices read.
  struct Columns {
    std::byte* gradient = nullptr;  ///< null: not wanted
    bool adds = false, waits = false;
  };
  /// The contributions of rows of a step through input j of a member: where they go, and whether
  /// they add.
  struct StepInput {
    std::size_t kind = 0, step = 0;
    unsigned input = 0;
    std::size_t position = 0, members = 0;  ///< of the member in the step; the step's members
    RowRange rows;
    const Program::Input* of = nullptr;
    void** to = nullptr;
    std::uint8_t* add = nullptr;

    std::size_t index(std::uint32_t row) const { return (row - rows.begin) * members + position; }
    std::size_t item(std::uint32_t row) const { return row * members + position; }
  };
  struct StepSlots {
    std::vector<std::byte*> of_input;    ///< slots of all items, if it has slots
    std::vector<WaitingAddend> waiting;  ///< addends for gradients of its members
  };

  const VertexRows::Kind& kind(std::size_t k) const { return of_.rows.kinds()[k]; }
  RecursionBatch::Step& step(std::size_t k, std::size_t s) { return of_.steps[k][s]; }
  std::size_t column(std::size_t sample, std::size_t input) const {
    return sample * of_.column_inputs() + input;
  }
  std::byte* allocate(std::size_t bytes) {
    return run_.recursions.gradients.allocate_array<std::byte>(bytes);
  }
  void begin(std::span<const NodeRef> nodes);
  void find_owners();
  void gather_repeated();
  void clear_columns();
  std::byte* zeros(std::size_t elements);
  void clear_gradients(std::size_t kind);
  void run_steps(std::size_t kind, RowRange rows, bool hoisted);
  void run_early_products();
  void run_step(std::size_t kind, std::size_t s, RowRange rows, bool early);
  Destination destination(std::size_t kind, std::size_t s, unsigned j, RowRange rows);
  void to_argument(const StepInput& all);
  void to_member(const StepInput& all);
  void to_column(const StepInput& all, const Program::Port& port);
  void to_state(const StepInput& all, const Program::Port& port);
  void wait(const StepInput& all, std::uint32_t row, const std::byte* whole,
            std::vector<WaitingAddend>& waiting);
  std::byte* slot(const StepInput& all, std::uint32_t row);
  void add(std::vector<WaitingAddend>& waiting);
  void describe_readers(std::size_t kind);

  RunState& run_;
  RecursionBatch& of_;
  RecursionBatch::Contributions& left_;
  const PassGradients& gradients_;
  std::vector<std::byte*> gradient_;  ///< by node: the gradient of its states
  std::vector<Columns> columns_;      ///< by node and input
  std::vector<std::vector<StepSlots>> slots_;
  std::vector<std::vector<WaitingAddend>> waiting_states_;  ///< by level
  std::vector<WaitingAddend> waiting_columns_;
  Arena lists_;  ///< lists of one call
};

void Pass::begin(std::span<const NodeRef> nodes) {
  left_ = {};
  left_.column_addends.resize(nodes.size() * of_.column_inputs());
  columns_.resize(left_.column_addends.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const bool is_active = nodes[n].node != kNone && gradients_.plan.node(nodes[n]).active;
    left_.is_wanted.push_back(is_active);
    if (!is_active) {
      gradient_.push_back(zeros(of_.rows.structure(n).size() * of_.op.state_size));
      continue;
    }
    gradient_.push_back(gradients_.of(run_, nodes[n]));
    const EdgeGradient* const edges = gradients_.edges_of(run_, nodes[n]);
    const Tape& tape = run_.tape(nodes[n]);
    const std::span<const ValueId> inputs = tape.inputs_of(nodes[n].node);
    for (std::size_t i = 0; i < of_.column_inputs(); ++i) {
      if (!edges[i].is_wanted) continue;
      const Value& value = tape.value(inputs[i]);
      columns_[column(n, i)] = {gradients_.place_of(run_, nodes[n].tape, edges[i], value),
                                edges[i].arrival == Arrival::added, waits(edges[i].arrival)};
    }
  }
  if (of_.rows.repeats()) find_owners();
  slots_.resize(of_.steps.size());
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    for (std::size_t s = 0; s < of_.steps[k].size(); ++s) {
      Rows& rows = step(k, s).rows;
      rows.dy = rows.out == nullptr ? nullptr : allocate(rows.items * rows.stride());
      rows.dy_parts = of_.list_parts(k, s, rows.dy, gradient_, left_.parts);
      const std::size_t deferred = rows.items * rows.deferred_stride();
      rows.deferred = deferred == 0 ? nullptr : allocate(deferred);
      slots_[k].emplace_back().of_input.assign(rows.type->inputs, nullptr);
    }
  }
  waiting_states_.resize(of_.rows.levels());
}

void Pass::find_owners() {
  left_.owners.assign(of_.rows.vertices(), {kNone, 0});
  of_.rows.for_each_vertex([&](const Row& row) {
    Row& owner = left_.owners[of_.rows.index(of_.rows.first(row))];
    if (left_.is_wanted[row.sample] && owner.sample == kNone) owner = row;
  });
}

// Adds the gradients of repeated vertices to those of the vertices that run for them.
void Pass::gather_repeated() {
  run_.queue->finish_sums();
  of_.rows.for_each_vertex([&](const Row& row) {
    const Row first = of_.rows.first(row);
    if (!left_.is_wanted[row.sample] || first == row) return;
    for (std::uint32_t state = 0; state < of_.op.state_sizes.size(); ++state) {
      const void* const addend = of_.state_in(gradient_[row.sample], row, state);
      run_.queue->add_all(of_.op.dtype, of_.state_in(gradient_[first.sample], first, state),
                          of_.op.state_sizes[state], {&addend, nullptr, 1});
    }
  });
}

// If some element gets no contribution, or a column is read by several vertices, contributions are
// added to zeros. The columns of a repeated vertex get none. If other nodes contribute to the
// column, too, a zero is added there, so that the sign of a zero does not depend on who comes
// first.
void Pass::clear_columns() {
  for (std::size_t n = 0; n < gradient_.size(); ++n) {
    for (std::size_t i = 0; i < of_.column_inputs(); ++i) {
      Columns& columns = columns_[column(n, i)];
      if (columns.gradient == nullptr) continue;
      const Tape& tape = run_.tape(of_.nodes[n]);
      const std::uint32_t size = tape.shape_of(tape.inputs_of(of_.nodes[n].node)[i]).size;
      if (!of_.rows.repeats() && of_.op.covers(of_.rows.structure(n), i, size)) continue;
      const bool is_others = columns.adds || columns.waits;
      columns.adds = true;
      if (!is_others) {
        run_.queue->add_all(of_.op.dtype, columns.gradient, size, {}, SumStart::zero);
        continue;
      }
      (columns.waits ? left_.column_addends[column(n, i)] : waiting_columns_)
          .push_back({columns.gradient, zeros(size), size, false, columns.gradient});
    }
  }
  run_.queue->finish_sums();
}

std::byte* Pass::zeros(std::size_t elements) {
  std::byte* const all = allocate(elements * of_.element);
  run_.queue->add_all(of_.op.dtype, all, elements, {}, SumStart::zero);
  run_.queue->finish_sums();
  return all;
}

void Pass::clear_gradients(std::size_t k) {
  const Program& program = *kind(k).program;
  for (std::size_t s = 0; s < slots_[k].size(); ++s) {
    const Rows& rows = step(k, s).rows;
    const bool clears = std::ranges::any_of(
        program.steps[s].members, [&](std::uint16_t m) { return program.members[m].clears; });
    if (!clears || rows.dy == nullptr) continue;
    run_.queue->add_all(of_.op.dtype, rows.dy, rows.items * rows.stride() / of_.element, {},
                        SumStart::zero);
  }
}

void Pass::run_steps(std::size_t k, RowRange rows, bool hoisted) {
  for (std::size_t s = slots_[k].size(); s-- > 0;) {
    if (kind(k).program->steps[s].is_hoisted == hoisted) run_step(k, s, rows, false);
  }
}

void Pass::run_early_products() {
  for (std::size_t k = slots_.size(); k-- > 0;) {
    for (std::size_t s = slots_[k].size(); s-- > 0;) {
      if (step(k, s).rows.early.products.inputs != 0) run_step(k, s, kind(k).all_rows(), true);
    }
  }
}

// `early`: only the gradients of its early products, which are left out otherwise.
void Pass::run_step(std::size_t k, std::size_t s, RowRange range, bool early) {
  const RecursionBatch::Step& of = step(k, s);
  if (kind(k).program->steps[s].sums_slots && !early) add(slots_[k][s].waiting);
  lists_.reset();
  const Rows rows = part_of(of.rows, of.item(range.begin, 0), range.size() * of.members, lists_);
  auto* const dx = lists_.allocate_array<Destination>(rows.type->inputs);
  bool wanted = rows.deferred != nullptr && !early;
  for (unsigned j = 0; j < rows.type->inputs; ++j) {
    dx[j] = {};
    if (early != rows.early.have(j)) continue;
    dx[j] = destination(k, s, j, range);
    if (!is_wanted(dx[j], rows.items)) dx[j] = {};
    wanted |= dx[j].wanted();
  }
  if (!wanted) return;
  check_finite(run_, of_, {k, s, range}, "gradient", rows.dy, rows.dy_parts);
  backward_rows(run_, *run_.queue, rows, {{}, dx, {}, 0, early}, run_.counts.of_types[of_.type.id],
                lists_);
}

Destination Pass::destination(std::size_t k, std::size_t s, unsigned j, RowRange range) {
  const Program& program = *kind(k).program;
  const Program::Step& of = program.steps[s];
  const std::size_t n = range.size() * of.members.size();
  auto** const to = lists_.allocate_array<void*>(n);
  auto* const add = lists_.allocate_array<std::uint8_t>(n);
  std::fill_n(to, n, nullptr);
  std::fill_n(add, n, std::uint8_t{0});
  for (std::size_t p = 0; p < of.members.size(); ++p) {
    const Program::Input& input = program.inputs[program.input_of(of, p, j)];
    const StepInput all{k, s, j, p, of.members.size(), range, &input, to, add};
    if (input.from == From::argument) {
      to_argument(all);
    } else if (input.blocks_gradient) {
      continue;
    } else if (input.from == From::member) {
      to_member(all);
    } else {
      const Program::Port& port = program.ports[input.index];
      if (port.blocks_gradient) continue;
      port.is_state ? to_state(all, port) : to_column(all, port);
    }
  }
  return {to, add};
}

void Pass::to_argument(const StepInput& all) {
  const Rows& rows = step(all.kind, all.step).rows;
  const bool writes = rows.type->shared_gradients[all.input] == SharedGradient::dense &&
                      of_.arguments[all.of->index].reaches_parameter;
  for (std::uint32_t row = all.rows.begin; row < all.rows.end && writes; ++row) {
    all.to[all.index(row)] = slot(all, row);
  }
}

void Pass::to_member(const StepInput& all) {
  const Program::Member& from = kind(all.kind).program->members[all.of->index];
  const RecursionBatch::Step& producer = step(all.kind, from.step);
  const std::size_t size = part_size(producer.rows.signature());
  const ItemPlaces to = producer.rows.gradients_from(all.of->offset);
  const ItemPlaces whole = producer.rows.gradients_from(all.of->offset / size * size);
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const std::size_t item = producer.item(row, from.position);
    all.to[all.index(row)] = to.at(item);
    all.add[all.index(row)] = all.of->arrival == Arrival::added;
    if (waits(all.of->arrival)) {
      wait(all, row, whole.at(item), slots_[all.kind][from.step].waiting);
    }
  }
}

void Pass::to_column(const StepInput& all, const Program::Port& port) {
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const Row vertex = of_.owner(kind(all.kind).rows[row]);
    if (vertex.sample == kNone) continue;
    const Columns& columns = columns_[column(vertex.sample, port.index)];
    if (columns.gradient == nullptr) continue;
    const Vertices& structure = of_.rows.structure(vertex.sample);
    std::byte* const whole =
        columns.gradient + of_.op.begin_of_column(structure, vertex.vertex, port.index);
    all.to[all.index(row)] = whole + port.offset * of_.element;
    all.add[all.index(row)] = all.of->arrival == Arrival::added || columns.adds;
    if (columns.waits) {
      wait(all, row, whole, left_.column_addends[column(vertex.sample, port.index)]);
    } else if (waits(all.of->arrival) || !of_.op.reads_once(structure, port.index)) {
      wait(all, row, whole, waiting_columns_);
    }
  }
}

void Pass::to_state(const StepInput& all, const Program::Port& port) {
  const VertexRows& rows = of_.rows;
  const VertexRows::Kind& of = kind(all.kind);
  const std::size_t predecessors = of.program->kind.predecessors;
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    if (of_.owner(of.rows[row]).sample == kNone) continue;
    const Row& before = of.before[row * predecessors + port.predecessor];
    std::byte* const state = of_.state_in(gradient_[before.sample], before, port.index);
    all.to[all.index(row)] = state + port.offset * of_.element;
    all.add[all.index(row)] = 1;
    if (waits(all.of->arrival) || rows.readers(before) > 1) {
      wait(all, row, state, waiting_states_[rows.structure(before.sample).level[before.vertex]]);
    }
  }
}

// If a sum has several contributors that may run in one call, or not in order, each has a slot.
void Pass::wait(const StepInput& all, std::uint32_t row, const std::byte* whole,
                std::vector<WaitingAddend>& waiting) {
  const std::size_t i = all.index(row);
  std::byte* const its_slot = slot(all, row);
  const Signature& signature = step(all.kind, all.step).rows.signature();
  const Row& vertex = kind(all.kind).rows[row];
  const std::uint64_t its_turn = of_.rows.structure(vertex.sample).turn_of(vertex.vertex);
  waiting.push_back({static_cast<std::byte*>(all.to[i]), its_slot,
                     static_cast<std::uint32_t>(signature.inputs[all.input].size()), false, whole,
                     std::uint64_t{vertex.sample} << 32 | its_turn, all.of->turn});
  all.to[i] = its_slot;
  all.add[i] = 0;
}

std::byte* Pass::slot(const StepInput& all, std::uint32_t row) {
  const Rows& rows = step(all.kind, all.step).rows;
  const std::size_t bytes = rows.signature().inputs[all.input].size() * of_.element;
  std::byte*& slots = slots_[all.kind][all.step].of_input[all.input];
  if (slots == nullptr) slots = allocate(rows.items * bytes);
  return slots + all.item(row) * bytes;
}

void Pass::add(std::vector<WaitingAddend>& waiting) {
  sort_for_addition(waiting, of_.element);
  add_waiting(*run_.queue, of_.op.dtype, waiting, lists_);
  run_.queue->finish_sums();
  waiting.clear();
}

// Lists the readers of arguments, for all vertices of a kind.
void Pass::describe_readers(std::size_t k) {
  const Program& program = *kind(k).program;
  for (const Program::Reader& reader : program.readers) {
    const Program::Member& member = program.members[reader.member];
    const SharedArgument& argument =
        of_.arguments[program.inputs_of(reader.member)[reader.input].index];
    if (!argument.reaches_parameter) continue;
    const RecursionBatch::Step& of = step(k, member.step);
    const Rows& rows = of.rows;
    RecursionBatch::ArgumentReader all{
        SharedContributions::of_item(*rows.type, reader.input, argument.offset), &argument, &of,
        member.position};
    const SharedGradient gradient = rows.type->shared_gradients[reader.input];
    if (gradient == SharedGradient::dense) {
      all.from = {slots_[k][member.step].of_input[reader.input],
                  rows.signature().inputs[reader.input].size() * of_.element};
    } else {
      all.from = rows.contributions();
    }
    if (gradient == SharedGradient::outer_product) all.factor = rows.in + reader.input + 1;
    left_.readers[k].push_back(all);
  }
}

}  // namespace

void differentiate(RunState& run, RecursionBatch& recursion, const PassGradients& gradients,
                   std::span<const NodeRef> nodes) {
  Pass(run, recursion, gradients).run(nodes);
}

// Vertices contribute in recording order; what repeated vertices contribute, their owner does.
void contribute(const RecursionBatch& of, std::size_t node, SharedContributions& to) {
  const auto n = static_cast<std::uint32_t>(node);
  const Vertices& structure = of.rows.structure(n);
  for (std::uint32_t turn = 0; turn < structure.size(); ++turn) {
    const Row vertex{n, structure.vertex_at(turn)}, first = of.rows.first(vertex);
    if (of.owner(first) != vertex) continue;
    const VertexRows::RowOfKind row = of.rows.row_of(first);
    for (const RecursionBatch::ArgumentReader& reader : of.contributions.readers[row.kind]) {
      const std::size_t item = reader.step->item(row.row, reader.position);
      const std::byte* const factor =
          reader.factor == nullptr ? nullptr : reader.factor->at<std::byte>(item);
      to.target_of(reader.argument->producer).add(reader.of, reader.from.at(item), factor);
    }
  }
}

}  // namespace dynet_like::detail
