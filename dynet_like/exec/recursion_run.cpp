// Recursions forward: vertices sorted by kind and level, and the calls of their steps.
#include "dynet_like/exec/recursion_run.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

}  // namespace

RecursionRun::RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> members)
    : run_(run),
      type_(batch.type),
      op_(recursion_of(run.types()[batch.type].signature)),
      element_(size_of(op_.dtype)) {
  find_members(members);
  std::byte* out = batch.out;
  for (Member& member : members_) {
    member.out = out;
    out += member.vertices->size() * batch.stride;
  }
  sort_vertices();
  for (Kind& kind : kinds_) allocate(kind);
  find_state_blocks();
  for (Kind& kind : kinds_) list_inputs(kind);
}

void RecursionRun::find_members(std::span<const NodeRef> refs) {
  std::uint32_t first_vertex = 0;
  for (NodeRef ref : refs) {
    const Tape& tape = run_.tape(ref);
    const RecordedRecursion& recorded = tape.recursion_of(ref.node);
    Member member;
    member.ref = ref;
    member.vertices = recorded.vertices;
    member.first_vertex = first_vertex;
    member.first_random = recorded.first_random;
    for (ValueId input : tape.inputs_of(ref.node).first(inputs())) {
      const Value& value = tape.value(input);
      columns_.push_back(
          {run_.state({ref.tape, value.node}).value + std::size_t{value.offset} * element_});
    }
    members_.push_back(member);
    first_vertex += member.vertices->size();
    levels_ = std::max(levels_, member.vertices->levels);
  }
  places_.resize(first_vertex);
  find_shared();
}

// They are the same for all members.
void RecursionRun::find_shared() {
  const NodeRef ref = members_[0].ref;
  const Tape& tape = run_.tape(ref);
  for (ValueId input : tape.inputs_of(ref.node).subspan(inputs())) {
    const Value& value = tape.value(input);
    const NodeRef producer{ref.tape, value.node};
    shared_.push_back({value, run_.identity_of(producer),
                       run_.state(producer).value + std::size_t{value.offset} * element_});
  }
}

// Of all that the function has met, those of these structures. Says which are those of vertices.
void RecursionRun::find_kinds() {
  std::vector<std::size_t> programs;  // places, member by member
  for (const Member& member : members_) {
    for (const VertexKind& kind : member.vertices->kinds) programs.push_back(op_.place_of(kind));
  }
  std::vector<std::size_t> met = programs;
  std::ranges::sort(met);
  met.erase(std::unique(met.begin(), met.end()), met.end());
  for (const std::size_t place : met) {
    kinds_.emplace_back();
    kinds_.back().program = op_.programs[place].get();
  }
  const auto number_of = [&](std::size_t place) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(met, place) - met.begin());
  };
  std::vector<std::uint32_t> numbers(programs.size());
  std::ranges::transform(programs, numbers.begin(), number_of);
  const std::uint32_t* number = numbers.data();
  for (const Member& member : members_) {
    Place* const places = places_.data() + member.first_vertex;
    for (std::uint32_t v = 0; v < member.vertices->size(); ++v) {
      places[v].kind = number[member.vertices->kind[v]];
    }
    number += member.vertices->kinds.size();
  }
}

// A counting sort by level; then the rows of each kind are those of its levels, one after the
// other, and of a level in the order of samples and vertices.
void RecursionRun::sort_vertices() {
  find_kinds();
  std::vector<std::uint32_t> begin(levels_ + 1, 0), rows(kinds_.size(), 0);
  for (const Member& member : members_) {
    for (const std::uint32_t level : member.vertices->level) ++begin[level + 1];
  }
  for (std::uint32_t l = 0; l < levels_; ++l) begin[l + 1] += begin[l];
  std::vector<Row> by_level(places_.size());
  std::vector<std::uint32_t> next = begin;
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    const Vertices& vertices = *members_[m].vertices;
    for (std::uint32_t v = 0; v < vertices.size(); ++v) {
      by_level[next[vertices.level[v]]++] = {m, v};
      ++rows[places_[members_[m].first_vertex + v].kind];
    }
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    kinds_[k].rows.reserve(rows[k]);
    kinds_[k].before.reserve(std::size_t{rows[k]} * kinds_[k].program->kind.predecessors);
  }
  std::vector<std::uint32_t> kinds;  // of a level
  for (std::uint32_t level = 0; level < levels_; ++level) {
    kinds.clear();
    for (std::uint32_t i = begin[level]; i < begin[level + 1]; ++i) {
      Place& place = places_[members_[by_level[i].member].first_vertex + by_level[i].vertex];
      Kind& kind = kinds_[place.kind];
      place.row = static_cast<std::uint32_t>(kind.rows.size());
      if (kind.levels.empty() || kind.levels.back().level != level) {
        kind.levels.push_back({level, {place.row, place.row}});
        kinds.push_back(place.kind);
      }
      add_row(kind, by_level[i]);
    }
    std::ranges::sort(kinds);
    for (const std::uint32_t k : kinds) of_level_.push_back({k, kinds_[k].levels.back().rows});
    level_begin_.push_back(static_cast<std::uint32_t>(of_level_.size()));
  }
}

void RecursionRun::add_row(Kind& kind, const Row& row) {
  const Member& member = members_[row.member];
  kind.rows.push_back(row);
  ++kind.levels.back().rows.end;
  for (const std::uint32_t before : member.vertices->predecessors_of(row.vertex)) {
    kind.before.push_back(member.first_vertex + before);
  }
}

void RecursionRun::allocate(Kind& kind) {
  std::size_t widest = 0;
  for (const OfLevel& level : kind.levels) {
    widest = std::max<std::size_t>(widest, level.rows.end - level.rows.begin);
  }
  for (const CellStep& of : kind.program->cell.steps) {
    const NodeType& type = (*op_.types)[of.type];
    const Signature& signature = type.signature;
    Step step;
    step.type = &type;
    step.kernels = &run_.queue->kernels(*type.op);
    step.rows = kind.rows.size();
    step.members = of.members.size();
    step.stride = signature.output_size * element_;
    step.saved_stride = signature.saved_size * element_;
    step.deferred_stride = signature.deferred_size * element_;
    step.of_level = is_of_level(*kind.program, kind.steps.size());
    const std::size_t items = (step.of_level ? widest : kind.rows.size()) * step.members;
    const auto block = [&](std::size_t bytes) {
      std::byte* const memory = run_.values.allocate(bytes);
      blocks_.push_back({memory, bytes});
      return memory;
    };
    step.out = block(items * step.stride);
    const bool keeps_saved = !run_.options.inference || type.op->kernels != nullptr;
    if (step.saved_stride > 0 && keeps_saved) step.saved = block(items * step.saved_stride);
    kind.steps.push_back(std::move(step));
  }
}

// Without a backward pass: no state, which other levels read, and nothing that runs for all.
bool RecursionRun::is_of_level(const VertexProgram& program, std::size_t s) const {
  return run_.options.inference && !program.hoisted[s] &&
         std::none_of(program.states.begin(), program.states.end(),
                      [&](const VertexProgram::State& state) {
                        return program.cell.members[state.member].step == s;
                      });
}

void RecursionRun::give_back() {
  for (const auto& [memory, bytes] : blocks_) run_.values.give_back(memory, bytes);
  blocks_.clear();
}

void RecursionRun::list_inputs(Kind& kind) {
  const CellType& cell = kind.program->cell;
  for (std::size_t s = 0; s < kind.steps.size(); ++s) {
    Step& step = kind.steps[s];
    for (unsigned j = 0; j < step.type->inputs; ++j) {
      if (step.type->signature.shared[j] == 0) {
        step.in.push_back({list_places(kind, cell.steps[s], j), nullptr});
        continue;
      }
      const std::uint32_t e = cell.pattern.first_input[cell.steps[s].members[0]] + j;
      const SharedMatrix matrix = shared_matrix(*step.type, j, kind.program->shared[e]);
      Operand operand{nullptr, shared_[kind.program->shared[e]].place};
      operand.packed = packed_matrix(run_, matrix, kind.rows.size() * step.members);
      step.in.push_back(operand);
    }
    list_numbers(kind, s);
  }
}

void RecursionRun::find_state_blocks() {
  state_blocks_.assign(kinds_.size() * op_.state_sizes.size(), {});
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::uint32_t s = 0; s < op_.state_sizes.size(); ++s) {
      const VertexProgram::State& state = kinds_[k].program->states[s];
      const CellMember& member = kinds_[k].program->cell.members[state.member];
      const Step& step = kinds_[k].steps[member.step];
      const std::size_t first = member.place * step.stride + state.offset * element_;
      StateBlock& block = state_blocks_[k * op_.state_sizes.size() + s];
      block.out = step.out + first;
      block.dy = step.dy == nullptr ? nullptr : step.dy + first;
      block.stride = step.members * step.stride;
    }
  }
}

const void** RecursionRun::list_places(const Kind& kind, const CellStep& of, unsigned j) {
  const CellType& cell = kind.program->cell;
  const std::size_t q = of.members.size(), rows = kind.rows.size();
  auto** const places = run_.lists.allocate_array<const void*>(rows * q);
  for (std::size_t p = 0; p < q; ++p) {
    const std::uint32_t e = cell.pattern.first_input[of.members[p]] + j;
    const CellInput& input = cell.pattern.inputs[e];
    if (input.from == From::port) {
      const VertexProgram::Port& port = kind.program->ports[input.index];
      port.is_state ? list_states(kind, port, places + p, q)
                    : list_columns(kind, port, places + p, q);
      continue;
    }
    const std::byte* from = shared_.empty() ? nullptr : shared_[kind.program->shared[e]].place;
    std::size_t stride = 0;
    bool of_level = false;
    if (input.from == From::member) {
      const CellMember& producer = cell.members[input.index];
      const Step& step = kind.steps[producer.step];
      from = step.out + producer.place * step.stride + input.offset * element_;
      stride = step.members * step.stride;
      of_level = step.of_level;
    }
    for (const OfLevel& level : kind.levels) {
      const auto& [begin, end] = level.rows;
      for (std::size_t row = begin, at = of_level ? 0 : begin; row < end; ++row, ++at) {
        places[row * q + p] = from + at * stride;
      }
    }
  }
  return places;
}

void RecursionRun::list_columns(const Kind& kind, const VertexProgram::Port& port,
                                const void** places, std::size_t step) const {
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const std::byte* const matrix = columns_of(kind.rows[row].member, port.index).value;
    const std::size_t begin = begin_of_column(kind.rows[row], port.index);
    places[row * step] = matrix + begin + port.offset * element_;
  }
}

void RecursionRun::list_states(const Kind& kind, const VertexProgram::Port& port,
                               const void** places, std::size_t step) const {
  const std::size_t predecessors = kind.program->kind.predecessors;
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const Place& before = places_[kind.before[row * predecessors + port.predecessor]];
    const StateBlock& states = states_of(before.kind, port.index);
    places[row * step] = states.out + before.row * states.stride + port.offset * element_;
  }
}

std::byte* RecursionRun::state_in(std::byte* node, const Member& member, std::uint32_t vertex,
                                  std::uint32_t state) const {
  const std::size_t before = std::size_t{op_.state_offsets[state]} * member.vertices->size();
  return node + (before + std::size_t{vertex} * op_.state_sizes[state]) * element_;
}

void RecursionRun::list_numbers(Kind& kind, std::size_t s) {
  Step& step = kind.steps[s];
  const CellStep& of = kind.program->cell.steps[s];
  const Op& op = *step.type->op;
  const std::size_t integers = step.type->signature.integers, reals = op.numbers.reals;
  const std::size_t items = kind.rows.size() * step.members;
  auto* const all = run_.lists.allocate_array<std::uint32_t>(items * integers);
  auto* const real = run_.lists.allocate_array<std::byte>(items * reals * element_);
  for (std::size_t i = 0; i < items && integers + reals > 0; ++i) {
    const VertexProgram::MemberNumbers& numbers =
        kind.program->numbers[of.members[i % step.members]];
    if (op.numbers.random) {
      const auto& [m, v] = kind.rows[i / step.members];
      const std::uint32_t number =
          members_[m].first_random + v * RecursionOp::kMostRandom + numbers.random;
      const std::uint32_t draw[] = {run_.tape(members_[m].ref).sample(), number, 0};
      std::copy_n(draw, integers, all + i * integers);
    } else {
      std::copy(numbers.integers.begin(), numbers.integers.end(), all + i * integers);
    }
    for (std::size_t r = 0; r < reals; ++r) {
      if (op_.dtype == DType::f32) {
        reinterpret_cast<float*>(real)[i * reals + r] = static_cast<float>(numbers.reals[r]);
      } else {
        reinterpret_cast<double*>(real)[i * reals + r] = numbers.reals[r];
      }
    }
  }
  step.integers = integers > 0 ? all : nullptr;
  step.reals = reals > 0 ? real : nullptr;
}

void RecursionRun::forward() {
  for (Kind& kind : kinds_) run_steps(kind, all_rows(kind), true);
  for (std::uint32_t level = 0; level < levels_; ++level) {
    for (const OfKind& of : of_level(level)) run_steps(kinds_[of.kind], of.rows, false);
  }
  copy_states(&StateBlock::out, &Member::out);
  for (const Kind& kind : kinds_) {
    run_.counts.recursion_flops +=
        kind.program->product_flops * static_cast<double>(kind.rows.size());
  }
}

void RecursionRun::run_steps(Kind& kind, Range rows, bool hoisted) {
  for (std::size_t s = 0; s < kind.steps.size(); ++s) {
    Step& step = kind.steps[s];
    if (kind.program->hoisted[s] != hoisted) continue;
    run_step(step, rows);
    if (!run_.options.detect_anomaly) continue;
    const std::size_t first = step.of_level ? 0 : rows.begin * step.members;
    check_finite(kind, s, step.out + first * step.stride, rows, "value");
  }
}

void RecursionRun::check_finite(const Kind& kind, std::size_t s, const std::byte* values,
                                Range rows, const char* what) const {
  const Step& step = kind.steps[s];
  const std::size_t size = step.stride / element_;
  const std::size_t n = (rows.end - rows.begin) * step.members * size;
  const std::size_t at = first_not_finite(run_.common, op_.dtype, values, n);
  if (at == n) return;
  const std::size_t item = at / size;
  const Row& row = kind.rows[rows.begin + item / step.members];
  const std::string where = std::string(step.type->op->name) + " in vertex " +
                            std::to_string(row.vertex) + " of " +
                            describe(run_.common, members_[row.member].ref);
  detail::check_finite(run_.common, where, what, op_.dtype, values + item * step.stride, size);
}

void RecursionRun::run_step(Step& step, Range rows) {
  const std::size_t first = rows.begin * step.members;
  const Signature& signature = step.type->signature;
  lists_.reset();
  auto* const in = lists_.allocate_array<Operand>(step.in.size());
  for (std::size_t j = 0; j < step.in.size(); ++j) {
    in[j] = step.in[j];
    if (in[j].items != nullptr) in[j].items += first;
  }
  ForwardCall call;
  call.type = &signature;
  call.n = (rows.end - rows.begin) * step.members;
  call.in = in;
  const std::size_t at = step.of_level ? 0 : first;
  call.out = {step.out + at * step.stride, signature.output_size};
  if (step.saved != nullptr) call.saved = step.saved + at * step.saved_stride;
  if (step.integers != nullptr) call.integers = step.integers + first * signature.integers;
  if (step.reals != nullptr) {
    call.reals =
        static_cast<const std::byte*>(step.reals) + first * signature.op->numbers.reals * element_;
  }
  call.random = run_.random;
  TypeCount& counts = run_.counts.of_types[type_];
  const KernelTime time(run_, counts.seconds);
  run_.queue->forward(step.kernels->forward[static_cast<int>(op_.dtype)], call);
  ++counts.forward_calls;
}

void RecursionRun::copy_states(std::byte* StateBlock::*from, std::byte* Member::*to) {
  for (std::uint32_t s = 0; s < op_.state_sizes.size(); ++s) {
    for (const Member& member : members_) {
      if (member.*to == nullptr) continue;
      for (std::uint32_t v = 0; v < member.vertices->size(); ++v) {
        const Place& place = places_[member.first_vertex + v];
        const StateBlock& states = states_of(place.kind, s);
        copies_.add(op_.state_sizes[s], states.*from + place.row * states.stride,
                    state_in(member.*to, member, v, s), false);
      }
    }
  }
  run_copies();
}

// What `identity` does with gradients: it writes or adds them wherever they belong. A call for each
// stretch of equal sizes.
void RecursionRun::run_copies() {
  const std::size_t n = copies_.size.size();
  for (std::size_t first = 0, end; first < n; first = end) {
    for (end = first; end < n && copies_.size[end] == copies_.size[first];) ++end;
    Signature signature;
    signature.op = &ops::identity;
    signature.dtype = op_.dtype;
    signature.inputs = {Dim({copies_.size[first]})};
    signature.shared = {0};
    signature.output = signature.inputs[0];
    signature.output_size = copies_.size[first];
    const Destination destination{copies_.to.data() + first, copies_.add_to.data() + first};
    BackwardCall call;
    call.type = &signature;
    call.n = end - first;
    call.dy.items = copies_.from.data() + first;
    call.dx = &destination;
    TypeCount& counts = run_.counts.of_types[type_];
    const KernelTime time(run_, counts.seconds);
    const Kernels& kernels = run_.queue->kernels(ops::identity);
    run_.queue->backward(kernels.backward[static_cast<int>(op_.dtype)], call);
  }
  copies_.clear();
}

}  // namespace dynet_like::detail
