// Recursions backward: levels in reverse, and contributions of vertices to shared inputs.
#include "dynet_like/exec/recursion_backward.h"

#include <algorithm>

#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

bool is_wanted(const Destination& dx, std::size_t n) {
  return std::any_of(dx.items, dx.items + n, [](void* to) { return to != nullptr; });
}

bool is_same_sum(const WaitingAddend& a, const WaitingAddend& b) {
  return a.sum == b.sum && a.elements == b.elements;
}

// Whether the sums of addends to one state or column, which are sorted, overlap.
bool overlap(std::span<const WaitingAddend> all, std::size_t element) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    const WaitingAddend& before = all[i - 1];
    if (!is_same_sum(all[i], before) && all[i].sum < before.sum + before.elements * element) {
      return true;
    }
  }
  return false;
}

// The order is that of nodes: what was recorded later comes first. Addends of one sum are adjacent,
// unless parts overlap.
void sort_for_addition(std::vector<WaitingAddend>& waiting, std::size_t element) {
  const auto is_before = [](const WaitingAddend& a, const WaitingAddend& b) {
    return a.vertex != b.vertex ? a.vertex > b.vertex : a.turn > b.turn;
  };
  std::ranges::sort(waiting, [&](const WaitingAddend& a, const WaitingAddend& b) {
    if (a.whole != b.whole) return a.whole < b.whole;
    if (a.sum != b.sum) return a.sum < b.sum;
    return a.elements != b.elements ? a.elements < b.elements : is_before(a, b);
  });
  for (auto begin = waiting.begin(), end = begin; begin != waiting.end(); begin = end) {
    while (end != waiting.end() && end->whole == begin->whole) ++end;
    if (overlap({begin, end}, element)) std::sort(begin, end, is_before);
  }
}

}  // namespace

void RecursionBackward::run(PassGradients& gradients, std::span<const NodeRef> nodes) {
  begin(gradients, nodes);
  clear_columns();
  for (std::size_t k = 0; k < steps_.size(); ++k) clear_gradients(k);
  if (of_.rows_.repeats()) gather_repeated();
  run_.queue->finish_sums();
  for (std::uint32_t level = of_.rows_.levels(); level-- > 0;) {
    add(waiting_states_[level]);
    const std::span<const VertexRows::OfKind> all = of_.rows_.of_level(level);
    for (std::size_t i = all.size(); i-- > 0;) run_steps(all[i].kind, all[i].rows, false);
  }
  run_early_products();
  for (std::size_t k = steps_.size(); k-- > 0;) run_steps(k, kind(k).all_rows(), true);
  add(waiting_columns_);
  for (Columns& columns : columns_) sort_for_addition(columns.addends, of_.element_);
  readers_.assign(steps_.size(), {});
  for (std::size_t k = 0; k < steps_.size(); ++k) describe_readers(k);
}

void RecursionBackward::begin(PassGradients& gradients, std::span<const NodeRef> nodes) {
  parts_.reset();
  gradient_.clear();
  is_wanted_.clear();
  columns_.assign(nodes.size() * of_.columns(), {});
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    is_wanted_.push_back(nodes[n].node != kNone && gradients.plan.at(nodes[n]).active);
    if (is_wanted_[n]) {
      gradient_.push_back(gradients.at(gradients.plan.at(nodes[n]).place));
      find_columns(gradients, n);
    } else {
      gradient_.push_back(zeros(of_.rows_.structure(n).size() * of_.op_.state_size));
    }
  }
  if (of_.rows_.repeats()) find_owners();
  steps_.assign(of_.steps_.size(), {});
  Arena& memory = run_.recursions.gradients;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    for (std::size_t s = 0; s < of_.steps_[k].size(); ++s) {
      Rows& rows = step(k, s).rows;
      rows.dy = rows.out == nullptr ? nullptr
                                    : memory.allocate_array<std::byte>(rows.items * rows.stride());
      rows.dy_parts = of_.list_parts(k, s, rows.dy, gradient_, parts_);
      rows.deferred = rows.deferred_stride() == 0
                          ? nullptr
                          : memory.allocate_array<std::byte>(rows.items * rows.deferred_stride());
      steps_[k].emplace_back().slots.assign(rows.type->inputs, nullptr);
    }
  }
  waiting_states_.assign(of_.rows_.levels(), {});
  waiting_columns_.clear();
}

void RecursionBackward::find_owners() {
  owners_.assign(of_.rows_.vertices(), {kNone, 0});
  for (std::uint32_t sample = 0; sample < is_wanted_.size(); ++sample) {
    if (!is_wanted_[sample]) continue;
    for (std::uint32_t vertex = 0; vertex < of_.rows_.structure(sample).size(); ++vertex) {
      const VertexRows::Row row{sample, vertex};
      VertexRows::Row& owner = owners_[of_.rows_.index(of_.rows_.first(row))];
      if (owner.sample == kNone) owner = row;
    }
  }
}

VertexRows::Row RecursionBackward::owner(const VertexRows::Row& row) const {
  if (of_.rows_.repeats()) return owners_[of_.rows_.index(row)];
  return is_wanted_[row.sample] ? row : VertexRows::Row{kNone, 0};
}

void RecursionBackward::gather_repeated() {
  run_.queue->finish_sums();
  for (std::uint32_t sample = 0; sample < is_wanted_.size(); ++sample) {
    if (!is_wanted_[sample]) continue;
    for (std::uint32_t vertex = 0; vertex < of_.rows_.structure(sample).size(); ++vertex) {
      const VertexRows::Row row{sample, vertex}, first = of_.rows_.first(row);
      if (first == row) continue;
      for (std::uint32_t state = 0; state < of_.op_.state_sizes.size(); ++state) {
        const void* const addend = of_.state_in(gradient_[sample], row, state);
        run_.queue->add_all(of_.op_.dtype, of_.state_in(gradient_[first.sample], first, state),
                            of_.op_.state_sizes[state], {&addend, nullptr, 1});
      }
    }
  }
}

void RecursionBackward::find_columns(const PassGradients& gradients, std::size_t n) {
  const NodeRef ref = of_.nodes_[n];
  const EdgeGradient* const edges =
      gradients.plan.edges(ref.tape) + run_.tape(ref).node(ref.node).first_edge;
  for (std::size_t i = 0; i < of_.columns(); ++i) {
    Columns& columns = columns_[n * of_.columns() + i];
    columns.gradient = gradients.at(edges[i].place);
    columns.adds = edges[i].arrival == Arrival::added;
    columns.waits = edges[i].arrival == Arrival::listed;
  }
}

// If some element gets no contribution, or a column is read by several vertices, contributions are
// added to zeros. The columns of a repeated vertex get none. If other nodes contribute to the
// column, too, a zero is added there, so that the sign of a zero does not depend on who comes
// first.
void RecursionBackward::clear_columns() {
  for (std::size_t n = 0; n < gradient_.size(); ++n) {
    const NodeRef ref = of_.nodes_[n];
    for (std::size_t i = 0; i < of_.columns(); ++i) {
      Columns& columns = columns_[n * of_.columns() + i];
      if (columns.gradient == nullptr) continue;
      const Tape& tape = run_.tape(ref);
      const std::uint32_t size = tape.shape_of(tape.inputs_of(ref.node)[i]).size;
      const bool is_covered =
          !of_.rows_.repeats() && of_.op_.covers(of_.rows_.structure(n), i, size);
      if (is_covered) continue;
      const bool is_others = columns.adds || columns.waits;
      columns.adds = true;
      if (!is_others) {
        run_.queue->add_all(of_.op_.dtype, columns.gradient, size, {}, SumStart::zero);
        continue;
      }
      const WaitingAddend zero{columns.gradient, columns.gradient, size, 0, 0, zeros(size)};
      (columns.waits ? columns.addends : waiting_columns_).push_back(zero);
    }
  }
  run_.queue->finish_sums();
}

std::byte* RecursionBackward::zeros(std::size_t elements) {
  auto* const all = run_.recursions.gradients.allocate_array<std::byte>(elements * of_.element_);
  run_.queue->add_all(of_.op_.dtype, all, elements, {}, SumStart::zero);
  run_.queue->finish_sums();
  return all;
}

void RecursionBackward::clear_gradients(std::size_t k) {
  const Program& program = *kind(k).program;
  for (std::size_t s = 0; s < steps_[k].size(); ++s) {
    const Rows& rows = step(k, s).rows;
    const bool clears = std::ranges::any_of(
        program.steps[s].members, [&](std::uint16_t m) { return program.members[m].clears; });
    if (!clears || rows.dy == nullptr) continue;
    run_.queue->add_all(of_.op_.dtype, rows.dy, rows.items * rows.stride() / of_.element_, {},
                        SumStart::zero);
  }
}

void RecursionBackward::run_steps(std::size_t k, RowRange rows, bool hoisted) {
  for (const std::uint16_t s : kind(k).program->backward) {
    if (kind(k).program->steps[s].is_hoisted == hoisted) run_step(k, s, rows);
  }
}

void RecursionBackward::run_early_products() {
  for (std::size_t k = steps_.size(); k-- > 0;) {
    for (std::size_t s = steps_[k].size(); s-- > 0;) {
      if (step(k, s).rows.early.products.inputs != 0) run_step(k, s, kind(k).all_rows(), true);
    }
  }
}

void RecursionBackward::run_step(std::size_t k, std::size_t s, RowRange range, bool early) {
  const RecursionRun::Step& of = step(k, s);
  if (kind(k).program->steps[s].sums_slots && !early) add(steps_[k][s].waiting);
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
  if (run_.options().detect_anomaly) {
    of_.check_finite(k, s, range, rows.dy, rows.dy_parts, "gradient");
  }
  run_backward(run_, *run_.queue, rows, {{}, dx, {}, 0, early}, counts(), lists_);
}

Destination RecursionBackward::destination(std::size_t k, std::size_t s, unsigned j,
                                           RowRange range) {
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

void RecursionBackward::to_argument(const StepInput& all) {
  const Rows& rows = step(all.kind, all.step).rows;
  const bool writes = rows.type->shared_gradients[all.input] == SharedGradient::dense &&
                      of_.arguments_[all.of->index].reaches_parameter;
  for (std::uint32_t row = all.rows.begin; row < all.rows.end && writes; ++row) {
    all.to[all.index(row)] = slot(all.kind, all.step, all.input, row * all.members + all.position);
  }
}

void RecursionBackward::to_member(const StepInput& all) {
  const Program::Member& from = kind(all.kind).program->members[all.of->index];
  const RecursionRun::Step& producer = step(all.kind, from.step);
  const std::size_t size = part_size(producer.rows.signature());
  const ItemPlaces to = producer.rows.gradients_from(all.of->offset);
  const ItemPlaces whole = producer.rows.gradients_from(all.of->offset / size * size);
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const std::size_t item = producer.item(row, from.position);
    all.to[all.index(row)] = to.at(item);
    all.add[all.index(row)] = all.of->adds;
    if (all.of->waits) wait(all, row, whole.at(item), steps_[all.kind][from.step].waiting);
  }
}

void RecursionBackward::to_column(const StepInput& all, const Program::Port& port) {
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    const VertexRows::Row vertex = owner(kind(all.kind).rows[row]);
    if (vertex.sample == kNone) continue;
    Columns& columns = columns_[vertex.sample * of_.columns() + port.index];
    if (columns.gradient == nullptr) continue;
    const std::size_t begin =
        of_.op_.begin_of_column(of_.rows_.structure(vertex.sample), vertex.vertex, port.index);
    all.to[all.index(row)] = columns.gradient + begin + port.offset * of_.element_;
    all.add[all.index(row)] = all.of->adds || columns.adds;
    if (columns.waits) {
      wait(all, row, columns.gradient + begin, columns.addends);
    } else if (all.of->waits ||
               !of_.op_.reads_once(of_.rows_.structure(vertex.sample), port.index)) {
      wait(all, row, columns.gradient + begin, waiting_columns_);
    }
  }
}

void RecursionBackward::to_state(const StepInput& all, const Program::Port& port) {
  const VertexRows& rows = of_.rows_;
  const VertexRows::Kind& of = kind(all.kind);
  const std::size_t predecessors = of.program->kind.predecessors;
  for (std::uint32_t row = all.rows.begin; row < all.rows.end; ++row) {
    if (owner(of.rows[row]).sample == kNone) continue;
    const VertexRows::Row& before = of.before[row * predecessors + port.predecessor];
    std::byte* const state = of_.state_in(gradient_[before.sample], before, port.index);
    all.to[all.index(row)] = state + port.offset * of_.element_;
    all.add[all.index(row)] = 1;
    if (all.of->waits || rows.readers(before) > 1) {
      wait(all, row, state, waiting_states_[rows.structure(before.sample).level[before.vertex]]);
    }
  }
}

// If a sum has several contributors that may run in one call, or not in order, each has a slot.
void RecursionBackward::wait(const StepInput& all, std::uint32_t row, const void* whole,
                             std::vector<WaitingAddend>& waiting) {
  const std::size_t i = all.index(row);
  std::byte* const waits = slot(all.kind, all.step, all.input, row * all.members + all.position);
  const Signature& signature = step(all.kind, all.step).rows.signature();
  const VertexRows::Row& vertex = kind(all.kind).rows[row];
  const std::uint64_t its_turn = of_.rows_.structure(vertex.sample).turn_of(vertex.vertex);
  waiting.push_back({static_cast<const std::byte*>(whole), static_cast<std::byte*>(all.to[i]),
                     static_cast<std::uint32_t>(signature.inputs[all.input].size()),
                     std::uint64_t{vertex.sample} << 32 | its_turn, all.of->turn, waits});
  all.to[i] = waits;
  all.add[i] = 0;
}

std::byte* RecursionBackward::slot(std::size_t k, std::size_t s, unsigned j, std::size_t item) {
  const Rows& rows = step(k, s).rows;
  const std::size_t bytes = rows.signature().inputs[j].size() * of_.element_;
  std::byte*& all = steps_[k][s].slots[j];
  if (all == nullptr) {
    all = run_.recursions.gradients.allocate_array<std::byte>(rows.items * bytes);
  }
  return all + item * bytes;
}

void RecursionBackward::add(std::vector<WaitingAddend>& waiting) {
  sort_for_addition(waiting, of_.element_);
  add_waiting(*run_.queue, of_.op_.dtype, waiting);
  waiting.clear();
}

void add_waiting(Queue& queue, DType dtype, std::span<const WaitingAddend> waiting) {
  std::vector<const void*> addends;
  const std::byte *begin_of_all = nullptr, *end_of_all = nullptr;  // the range of sums that were
                                                                   // queued for this state or
                                                                   // column
  for (std::size_t i = 0, end; i < waiting.size(); i = end) {
    addends.clear();
    for (end = i; end < waiting.size() && is_same_sum(waiting[end], waiting[i]); ++end) {
      addends.push_back(waiting[end].addend);
    }
    // Sums that overlap must follow one another.
    const std::byte *const from = waiting[i].sum, *const to =
                                                      from + waiting[i].elements * size_of(dtype);
    if (i == 0 || waiting[i].whole != waiting[i - 1].whole) {
      begin_of_all = from;
      end_of_all = to;
    } else if (from < end_of_all && begin_of_all < to) {
      queue.finish_sums();
      begin_of_all = from;
      end_of_all = to;
    } else {
      begin_of_all = std::min(begin_of_all, from);
      end_of_all = std::max(end_of_all, to);
    }
    queue.add_all(dtype, waiting[i].sum, waiting[i].elements,
                  {addends.data(), nullptr, addends.size()});
  }
  queue.finish_sums();
}

std::span<const WaitingAddend> RecursionBackward::waiting(NodeRef node, std::size_t input) const {
  return columns_[of_.index_of(node) * of_.columns() + input].addends;
}

// Lists the readers of arguments, for all vertices of a kind.
void RecursionBackward::describe_readers(std::size_t k) {
  const Program& program = *kind(k).program;
  for (const Program::Reader& reader : program.readers) {
    const Program::Member& member = program.members[reader.member];
    const SharedArgument& argument =
        of_.arguments_[program.inputs_of(reader.member)[reader.input].index];
    if (!argument.reaches_parameter) continue;
    const RecursionRun::Step& of = step(k, member.step);
    const Rows& rows = of.rows;
    ArgumentReader all{SharedContributions::of_item(*rows.type, reader.input), &argument, &of,
                       member.position};
    const SharedGradient gradient = rows.type->shared_gradients[reader.input];
    if (gradient == SharedGradient::dense) {
      all.from = {steps_[k][member.step].slots[reader.input],
                  rows.signature().inputs[reader.input].size() * of_.element_};
    } else {
      all.from = rows.contributions();
    }
    if (gradient == SharedGradient::outer_product) all.factor = rows.in + reader.input + 1;
    readers_[k].push_back(all);
  }
}

// Vertices contribute in recording order; what repeated vertices contribute, their owner does.
void RecursionBackward::contribute(NodeRef node, SharedContributions& to) const {
  const auto n = static_cast<std::uint32_t>(of_.index_of(node));
  const Vertices& structure = of_.rows_.structure(n);
  for (std::uint32_t turn = 0; turn < structure.size(); ++turn) {
    const VertexRows::Row vertex{n, structure.vertex_at(turn)}, first = of_.rows_.first(vertex);
    if (owner(first) != vertex) continue;
    const VertexRows::RowOfKind row = of_.rows_.row_of(first);
    for (const ArgumentReader& reader : readers_[row.kind]) {
      const std::size_t item = reader.step->item(row.row, reader.position);
      const std::byte* const factor =
          reader.factor == nullptr ? nullptr : reader.factor->at<std::byte>(item);
      to.target_of(reader.argument->producer)
          .add(reader.of, reader.argument->offset, 0, reader.from.at(item), factor);
    }
  }
}

}  // namespace dynet_like::detail
