// Recursions forward: what steps read, and their calls level by level.
#include "dynet_like/exec/recursion_run.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/item_copies.h"
#include "dynet_like/exec/packing.h"
#include "dynet_like/exec/recursion_backward.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

VertexRows::Structures structures_of(const RunState& run, std::span<const NodeRef> nodes) {
  VertexRows::Structures structures;
  for (NodeRef ref : nodes) structures.push_back(run.tape(ref).recursion_of(ref.node).vertices);
  return structures;
}

}  // namespace

RecursionRun::RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> nodes)
    : run_(run),
      type_(*batch.type),
      op_(recursion_of(type_.signature)),
      element_(size_of(op_.dtype)),
      nodes_(nodes.begin(), nodes.end()),
      rows_(op_, structures_of(run, nodes)),
      steps_(rows_.kinds().size()) {
  std::byte* out = batch.out;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    out_.push_back(out);
    out += rows_.structure(n).size() * batch.stride();
  }
  find_inputs();
  for (std::size_t k = 0; k < steps_.size(); ++k) allocate(k);
  for (std::size_t k = 0; k < steps_.size(); ++k) list_inputs(k);
}

RecursionRun::~RecursionRun() = default;

std::size_t RecursionRun::index_of(NodeRef node) const {
  const auto found = std::ranges::lower_bound(out_, run_.state(node).value);
  return static_cast<std::size_t>(found - out_.begin());
}

// What they share is the same for all nodes.
void RecursionRun::find_inputs() {
  const auto place_of = [&](NodeRef ref, const Value& value) {
    return run_.state({ref.tape, value.node}).value + std::size_t{value.offset} * element_;
  };
  for (NodeRef ref : nodes_) {
    const Tape& tape = run_.tape(ref);
    for (ValueId input : tape.inputs_of(ref.node).first(columns())) {
      columns_.push_back(place_of(ref, tape.value(input)));
    }
  }
  const NodeRef ref = nodes_[0];
  const Tape& tape = run_.tape(ref);
  for (ValueId input : tape.inputs_of(ref.node).subspan(columns())) {
    const Value& value = tape.value(input);
    arguments_.push_back(
        {run_.identity_of({ref.tape, value.node}), value.offset, value.reaches_parameter});
    argument_values_.push_back(place_of(ref, value));
  }
}

void RecursionRun::allocate(std::size_t k) {
  const VertexRows::Kind& kind = rows_.kinds()[k];
  const auto block = [&](std::size_t bytes) {
    std::byte* const memory = run_.values.allocate(bytes);
    blocks_.push_back({memory, bytes});
    return memory;
  };
  for (const Program::Step& of : kind.program->steps) {
    Step step;
    step.members = of.members.size();
    step.of_level = is_of_level(*kind.program, steps_[k].size());
    Rows& rows = step.rows;
    rows.type = &(*op_.types)[of.type];
    rows.kernels = &run_.queue->kernels(*rows.type->op);
    rows.items = static_cast<std::uint32_t>(kind.rows.size() * step.members);
    const std::size_t items = step.of_level ? kind.widest_level() * step.members : rows.items;
    rows.out = block(items * rows.stride());
    const bool keeps_saved = !run_.options().inference || rows.type->op->kernels != nullptr;
    if (rows.saved_stride() > 0 && keeps_saved) rows.saved = block(items * rows.saved_stride());
    steps_[k].push_back(step);
  }
}

// Without a backward pass: no state, which other levels read, and nothing that runs for all.
bool RecursionRun::is_of_level(const Program& program, std::size_t s) const {
  return run_.options().inference && !program.steps[s].is_hoisted &&
         std::ranges::none_of(program.results, [&](const Program::Result& result) {
           return program.members[result.member].step == s;
         });
}

void RecursionRun::give_back() {
  for (const auto& [memory, bytes] : blocks_) run_.values.give_back(memory, bytes);
  blocks_.clear();
}

void RecursionRun::list_inputs(std::size_t k) {
  const Program& program = *rows_.kinds()[k].program;
  for (std::size_t s = 0; s < steps_[k].size(); ++s) {
    const Program::Step& of = program.steps[s];
    Rows& rows = steps_[k][s].rows;
    auto* const in = run_.lists.allocate_array<Operand>(rows.type->inputs);
    auto* const arguments = run_.lists.allocate_array<SharedArgument>(rows.type->inputs);
    for (unsigned j = 0; j < rows.type->inputs; ++j) {
      if (rows.signature().shared[j] == 0) {
        in[j] = {list_items(k, of, j), nullptr};
        continue;
      }
      const std::uint32_t argument = program.inputs[program.input_of(of, 0, j)].index;
      arguments[j] = arguments_[argument];
      in[j] = {nullptr, argument_values_[argument]};
      in[j].packed = packed_matrix(run_, *rows.type, j, arguments[j], rows.items);
    }
    rows.in = in;
    rows.arguments = arguments;
    list_numbers(k, s);
  }
}

const void** RecursionRun::list_items(std::size_t k, const Program::Step& of, unsigned j) {
  const VertexRows::Kind& kind = rows_.kinds()[k];
  const Program& program = *kind.program;
  const std::size_t q = of.members.size();
  auto** const items = run_.lists.allocate_array<const void*>(kind.rows.size() * q);
  for (std::size_t p = 0; p < q; ++p) {
    const Program::Input& input = program.inputs[program.input_of(of, p, j)];
    if (input.from == From::port) {
      const Program::Port& port = program.ports[input.index];
      port.is_state ? list_states(kind, port, items + p, q)
                    : list_columns(kind, port, items + p, q);
      continue;
    }
    const std::byte* from = nullptr;
    std::size_t stride = 0;
    bool of_level = false;
    if (input.from == From::argument) {
      from = argument_values_[input.index];
    } else {
      const Program::Member& producer = program.members[input.index];
      const Step& step = steps_[k][producer.step];
      from = step.rows.out + producer.place * step.rows.stride() + input.offset * element_;
      stride = step.members * step.rows.stride();
      of_level = step.of_level;
    }
    for (const RowRange& level : kind.levels) {
      for (std::size_t row = level.begin, at = of_level ? 0 : row; row < level.end; ++row, ++at) {
        items[row * q + p] = from + at * stride;
      }
    }
  }
  return items;
}

void RecursionRun::list_columns(const VertexRows::Kind& kind, const Program::Port& port,
                                const void** items, std::size_t step) const {
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const std::byte* const matrix = columns_[kind.rows[row].sample * columns() + port.index];
    items[row * step] =
        matrix + begin_of_column(kind.rows[row], port.index) + port.offset * element_;
  }
}

void RecursionRun::list_states(const VertexRows::Kind& kind, const Program::Port& port,
                               const void** items, std::size_t step) const {
  const std::size_t predecessors = kind.program->kind.predecessors;
  std::vector<Pieces> pieces;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    pieces.push_back(pieces_of(k, port.index, &Rows::out));
  }
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const VertexRows::Place& before =
        rows_.place(kind.before[row * predecessors + port.predecessor]);
    items[row * step] = pieces[before.kind].at(before.row) + port.offset * element_;
  }
}

RecursionRun::Pieces RecursionRun::pieces_of(std::size_t kind, std::uint32_t state,
                                             std::byte* Rows::*block) const {
  const Program& program = *rows_.kinds()[kind].program;
  const Program::Result& result = program.results[state];
  const Program::Member& member = program.members[result.member];
  const Step& step = steps_[kind][member.step];
  const std::size_t stride = step.rows.stride();
  return {step.rows.*block + member.place * stride + result.offset * element_,
          step.members * stride};
}

std::byte* RecursionRun::state_in(std::byte* node, const VertexRows::Row& row,
                                  std::uint32_t state) const {
  const std::size_t before =
      std::size_t{op_.state_offsets[state]} * rows_.structure(row.sample).size();
  return node + (before + std::size_t{row.vertex} * op_.state_sizes[state]) * element_;
}

void RecursionRun::list_numbers(std::size_t k, std::size_t s) {
  const VertexRows::Kind& kind = rows_.kinds()[k];
  const Program::Step& of = kind.program->steps[s];
  Rows& rows = steps_[k][s].rows;
  const Op& op = *rows.type->op;
  const std::size_t integers = rows.signature().integers, reals = op.numbers.reals;
  if (integers + reals == 0) return;
  auto* const all = run_.lists.allocate_array<std::uint32_t>(rows.items * integers);
  auto* const real = run_.lists.allocate_array<std::byte>(rows.items * reals * element_);
  for (std::size_t i = 0; i < rows.items; ++i) {
    const Program::Numbers& numbers =
        kind.program->members[of.members[i % of.members.size()]].numbers;
    if (op.numbers.random) {
      const VertexRows::Row& row = kind.rows[i / of.members.size()];
      const NodeRef node = nodes_[row.sample];
      const std::uint32_t number = run_.tape(node).recursion_of(node.node).first_random +
                                   row.vertex * RecursionOp::kMostRandom + numbers.random;
      const std::uint32_t draw[] = {run_.tape(node).random.sample, number, 0};
      std::copy_n(draw, integers, all + i * integers);
    } else {
      std::ranges::copy(numbers.integers, all + i * integers);
    }
    for (std::size_t r = 0; r < reals; ++r) {
      if (op_.dtype == DType::f32) {
        reinterpret_cast<float*>(real)[i * reals + r] = static_cast<float>(numbers.reals[r]);
      } else {
        reinterpret_cast<double*>(real)[i * reals + r] = numbers.reals[r];
      }
    }
  }
  if (integers > 0) rows.integers = all;
  if (reals > 0) rows.reals = real;
}

void RecursionRun::forward() {
  for (std::size_t k = 0; k < steps_.size(); ++k) run_steps(k, rows_.kinds()[k].all_rows(), true);
  for (std::uint32_t level = 0; level < rows_.levels(); ++level) {
    for (const VertexRows::OfKind& of : rows_.of_level(level)) run_steps(of.kind, of.rows, false);
  }
  ItemCopies copies(run_, op_.dtype, run_.counts.of_types[type_.id].seconds);
  copy_states(&Rows::out, out_, copies);
  for (const VertexRows::Kind& kind : rows_.kinds()) {
    run_.counts.recursion_flops +=
        kind.program->product_flops * static_cast<double>(kind.rows.size());
  }
}

void RecursionRun::run_steps(std::size_t k, RowRange range, bool hoisted) {
  const Program& program = *rows_.kinds()[k].program;
  TypeCount& counts = run_.counts.of_types[type_.id];
  for (std::size_t s = 0; s < steps_[k].size(); ++s) {
    if (program.steps[s].is_hoisted != hoisted) continue;
    const Step& step = steps_[k][s];
    lists_.reset();
    Rows rows = part_of(step.rows, step.item(range.begin, 0), range.size() * step.members, lists_);
    if (step.of_level) {
      rows.out = step.rows.out;
      rows.saved = step.rows.saved;
    }
    run_forward(run_, rows, counts.seconds);
    ++counts.forward_calls;
    if (run_.options().detect_anomaly) check_finite(k, s, rows.out, range, "value");
  }
}

void RecursionRun::copy_states(std::byte* Rows::*block, std::span<std::byte* const> to,
                               ItemCopies& copies) const {
  for (std::uint32_t s = 0; s < op_.state_sizes.size(); ++s) {
    std::vector<Pieces> pieces;
    for (std::size_t k = 0; k < steps_.size(); ++k) pieces.push_back(pieces_of(k, s, block));
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (to[n] == nullptr) continue;
      std::uint32_t vertex = 0;
      for (const VertexRows::Place& place : rows_.places_of(n)) {
        copies.add(op_.state_sizes[s], pieces[place.kind].at(place.row),
                   state_in(to[n], {n, vertex++}, s), false);
      }
    }
  }
  copies.run();
}

void RecursionRun::check_finite(std::size_t k, std::size_t s, const std::byte* values,
                                RowRange range, const char* what) const {
  const Step& step = steps_[k][s];
  const std::size_t size = step.rows.stride() / element_;
  const std::size_t n = range.size() * step.members * size;
  const std::size_t at = first_not_finite(run_.common, op_.dtype, values, n);
  if (at == n) return;
  const std::size_t item = at / size;
  const VertexRows::Row& row = rows_.kinds()[k].rows[range.begin + item / step.members];
  const std::string where = std::string(step.rows.type->op->name) + " in vertex " +
                            std::to_string(row.vertex) + " of " +
                            describe(run_.common, nodes_[row.sample]);
  detail::check_finite(run_.common, where, what, op_.dtype, values + item * step.rows.stride(),
                       size);
}

void RecursionRun::backward(PassGradients& gradients, std::span<const NodeRef> nodes) {
  if (backward_ == nullptr) backward_ = std::make_unique<RecursionBackward>(*this);
  backward_->run(gradients, nodes);
}

void RecursionRun::complete_gradients() { backward_->complete_gradients(); }

void RecursionRun::contribute(NodeRef node, SharedContributions& to) const {
  backward_->contribute(node, to);
}

}  // namespace dynet_like::detail
