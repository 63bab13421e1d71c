// Recursions forward: the inputs of steps, and their calls level by level.
#include "dynet_like/exec/recursion_run.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/early_nodes.h"
#include "dynet_like/exec/packing.h"
#include "dynet_like/exec/recursion_backward.h"
#include "dynet_like/exec/run_rows.h"
#include "dynet_like/tape/node_text.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

// How many parts of a step's outputs are states.
std::size_t states_in(const Program& program, std::size_t s) {
  return static_cast<std::size_t>(std::ranges::count_if(program.results, [&](const auto& result) {
    return program.members[result.member].step == s;
  }));
}

}  // namespace

RecursionRun::RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> nodes)
    : run_(run),
      type_(*batch.type),
      op_(recursion_of(type_.signature)),
      element_(size_of(op_.dtype)),
      nodes_(nodes.begin(), nodes.end()),
      columns_(sources_of_columns()),
      rows_(make_rows()),
      steps_(rows_.kinds().size()) {
  std::byte* out = batch.out;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    out_.push_back(out);
    out += rows_.structure(n).size() * batch.stride();
  }
  find_arguments();
  for (std::size_t k = 0; k < steps_.size(); ++k) allocate(k);
  for (std::size_t k = 0; k < steps_.size(); ++k) list_inputs(k);
}

RecursionRun::~RecursionRun() = default;

std::size_t RecursionRun::index_of(NodeRef node) const {
  const auto found = std::ranges::lower_bound(out_, run_.state(node).value);
  return static_cast<std::size_t>(found - out_.begin());
}

const std::byte* RecursionRun::place_of(NodeRef node, const Value& input) const {
  return run_.state({node.tape, input.node}).value + std::size_t{input.offset} * element_;
}

std::vector<ColumnSource> RecursionRun::sources_of_columns() const {
  std::vector<ColumnSource> sources;
  sources.reserve(nodes_.size() * columns());
  for (NodeRef ref : nodes_) {
    const Tape& tape = run_.tape(ref);
    for (ValueId input : tape.inputs_of(ref.node).first(columns())) {
      const std::size_t i = sources.size() % columns();
      sources.push_back(source_of(ref, tape.value(input), op_.column_sizes[i]));
    }
  }
  return sources;
}

ColumnSource RecursionRun::source_of(NodeRef node, const Value& input, std::size_t size) const {
  ColumnSource source{place_of(node, input), input.blocks_gradient};
  const Tape& tape = run_.tape(node);
  if (!run_.options().share_repeated || input.identity != 0) return source;
  const NodeType& type = tape.type_of(input.node);
  if (type.op->role == Role::row && type.output_size == size && input.offset % size == 0) {
    source.table = run_.identity_of({node.tape, tape.value(tape.inputs_of(input.node)[0]).node});
    source.rows = tape.integers_of(input.node).subspan(input.offset / size);
  }
  return source;
}

// A single node repeats little. On a device, columns and states are not in the host's memory. In
// training, what is searched must not depend on earlier minibatches, since it decides on bits.
VertexRows RecursionRun::make_rows() const {
  VertexRows::Structures structures;
  std::size_t vertices = 0;
  for (NodeRef ref : nodes_) {
    structures.push_back(run_.tape(ref).recursion_of(ref.node).vertices);
    vertices += structures.back()->size();
  }
  const GraphOptions& options = run_.options();
  RepeatSearches& searches = run_.recursions.searches;
  const bool searched = run_.common.is_on_cpu() && nodes_.size() > 1 &&
                        (options.inference ? searches.begin(op_) : options.share_repeated);
  if (!searched) return {op_, std::move(structures)};
  const SameColumns same = options.inference ? SameColumns::bits : SameColumns::origins;
  std::vector<VertexRows::Row> first = find_repeated(op_, structures, columns_, same);
  VertexRows rows(op_, std::move(structures), std::move(first));
  std::size_t kept = 0;
  for (const VertexRows::Kind& kind : rows.kinds()) kept += kind.rows.size();
  if (options.inference) searches.end(op_, vertices - kept, vertices);
  return rows;
}

// Shared inputs are the same for all nodes, as far as a node has them.
void RecursionRun::find_arguments() {
  const NodeRef ref = *std::ranges::find_if(
      nodes_, [&](NodeRef node) { return &run_.tape(node).type_of(node.node) == &type_; });
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
  const auto block_in = [&](auto& blocks, std::size_t bytes) {
    std::byte* const memory = run_.values.allocate(bytes);
    blocks.push_back({memory, bytes});
    return memory;
  };
  const auto block = [&](std::size_t bytes) { return block_in(blocks_, bytes); };
  const bool inference = run_.options().inference;
  for (const Program::Step& of : kind.program->steps) {
    const std::size_t s = steps_[k].size(), states = states_in(*kind.program, s);
    Step& step = steps_[k].emplace_back();
    step.members = of.members.size();
    step.of_level = inference && !of.is_hoisted && states == 0;
    Rows& rows = step.rows;
    rows.type = &(*op_.types)[of.type];
    rows.kernels = &run_.queue->kernels(*rows.type->op);
    rows.items = static_cast<std::uint32_t>(kind.rows.size() * step.members);
    const std::size_t items = step.of_level ? kind.widest_level() * step.members : rows.items;
    if (states < step.members * rows.type->op->parts) rows.out = block(items * rows.stride());
    rows.out_parts = list_parts(k, s, rows.out, out_, run_.lists);
    const bool keeps_saved = !inference || rows.type->op->kernels != nullptr;
    if (rows.saved_stride() > 0 && keeps_saved) rows.saved = block(items * rows.saved_stride());
    if (has_early_products(k, of)) {
      rows.early = {block_in(early_blocks_, rows.items * of.early.size * element_), of.early};
    }
  }
}

bool RecursionRun::has_early_products(std::size_t k, const Program::Step& of) const {
  if (of.early.inputs == 0 || !run_.common.is_on_cpu()) return false;
  const VertexRows::Kind& kind = rows_.kinds()[k];
  const auto levels = static_cast<std::size_t>(std::ranges::count_if(
      kind.levels, [](const RowRange& level) { return level.begin < level.end; }));
  return levels > 1 && kind.rows.size() < kNarrow * levels;
}

void** RecursionRun::list_parts(std::size_t k, std::size_t s, std::byte* block,
                                std::span<std::byte* const> nodes, Arena& lists) const {
  const VertexRows::Kind& kind = rows_.kinds()[k];
  if (states_in(*kind.program, s) == 0) return nullptr;
  const Step& step = steps_[k][s];
  const std::size_t parts = step.rows.type->op->parts, each = step.members * parts;
  auto** const all = lists.allocate_array<void*>(kind.rows.size() * each);
  const std::size_t stride = step.rows.stride() / parts;
  for (std::size_t i = 0; block != nullptr && i < kind.rows.size() * each; ++i) {
    all[i] = block + i * stride;
  }
  for (std::uint32_t state = 0; state < op_.state_sizes.size(); ++state) {
    const Program::Result& result = kind.program->results[state];
    const Program::Member& member = kind.program->members[result.member];
    if (member.step != s) continue;
    void** next = all + member.position * parts + result.part;
    for (const VertexRows::Row& row : kind.rows) {
      *next = state_in(nodes[row.sample], row, state);
      next += each;
    }
  }
  return all;
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
    ItemPlaces from;
    std::size_t each = 0, position = 0;
    bool of_level = false;
    if (input.from == From::argument) {
      from.first = const_cast<std::byte*>(argument_values_[input.index]);
    } else {
      const Program::Member& producer = program.members[input.index];
      const Step& step = steps_[k][producer.step];
      from = step.rows.outputs_from(input.offset);
      each = step.members;
      position = producer.position;
      of_level = step.of_level;
    }
    for (const RowRange& level : kind.levels) {
      for (std::size_t row = level.begin, at = of_level ? 0 : row; row < level.end; ++row, ++at) {
        items[row * q + p] = from.at(at * each + position);
      }
    }
  }
  return items;
}

void RecursionRun::list_columns(const VertexRows::Kind& kind, const Program::Port& port,
                                const void** items, std::size_t step) const {
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const auto& [sample, vertex] = kind.rows[row];
    items[row * step] = columns_[sample * columns() + port.index].place +
                        op_.begin_of_column(rows_.structure(sample), vertex, port.index) +
                        port.offset * element_;
  }
}

void RecursionRun::list_states(const VertexRows::Kind& kind, const Program::Port& port,
                               const void** items, std::size_t step) const {
  const std::size_t predecessors = kind.program->kind.predecessors;
  for (std::size_t row = 0; row < kind.rows.size(); ++row) {
    const VertexRows::Row& before = kind.before[row * predecessors + port.predecessor];
    items[row * step] = state_in(out_[before.sample], before, port.index) + port.offset * element_;
  }
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
      const std::uint32_t number =
          run_.tape(node).recursion_of(node.node).first_random[row.vertex] + numbers.random;
      const std::uint64_t seed = *run_.tape(node).random.seed;
      const std::uint32_t draw[] = {static_cast<std::uint32_t>(seed),
                                    static_cast<std::uint32_t>(seed >> 32), number, 0};
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
  run_early_products();
  for (std::uint32_t level = 0; level < rows_.levels(); ++level) {
    for (const VertexRows::OfKind& of : rows_.of_level(level)) run_steps(of.kind, of.rows, false);
  }
  for (const auto& [memory, bytes] : early_blocks_) run_.values.give_back(memory, bytes);
  early_blocks_.clear();
  copy_repeated();
  for (const VertexRows::Kind& kind : rows_.kinds()) {
    run_.counts.recursion_flops +=
        kind.program->product_flops * static_cast<double>(kind.rows.size());
  }
}

void RecursionRun::run_early_products() {
  TypeCount& counts = run_.counts.of_types[type_.id];
  for (const std::vector<Step>& steps : steps_) {
    for (const Step& step : steps) {
      if (step.rows.early.first == nullptr) continue;
      run_early(run_, step.rows, counts.seconds);
      ++counts.forward_calls;
    }
  }
}

void RecursionRun::copy_repeated() const {
  if (!rows_.repeats()) return;
  for (std::uint32_t sample = 0; sample < nodes_.size(); ++sample) {
    for (std::uint32_t vertex = 0; vertex < rows_.structure(sample).size(); ++vertex) {
      const VertexRows::Row row{sample, vertex}, first = rows_.first(row);
      if (first == row) continue;
      for (std::uint32_t state = 0; state < op_.state_sizes.size(); ++state) {
        std::memcpy(state_in(out_[sample], row, state), state_in(out_[first.sample], first, state),
                    op_.state_sizes[state] * element_);
      }
    }
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
    if (run_.options().detect_anomaly) {
      check_finite(k, s, range, rows.out, rows.out_parts, "value");
    }
  }
}

void RecursionRun::check_finite(std::size_t k, std::size_t s, RowRange range,
                                const std::byte* block, void* const* parts,
                                const char* what) const {
  const Step& step = steps_[k][s];
  const Signature& type = step.rows.signature();
  const std::size_t items = range.size() * step.members;
  const std::size_t pieces = parts == nullptr ? 1 : items * type.op->parts;
  const std::size_t size = parts == nullptr ? items * type.output_size : part_size(type);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const auto* values = parts == nullptr ? block : static_cast<const std::byte*>(parts[piece]);
    const std::size_t at = first_not_finite(run_.common, op_.dtype, values, size);
    if (at == size) continue;
    std::size_t item = piece / type.op->parts;
    if (parts == nullptr) {
      item = at / type.output_size;
      values += item * step.rows.stride();
    }
    const VertexRows::Row& row = rows_.kinds()[k].rows[range.begin + item / step.members];
    const NodeRef ref = nodes_[row.sample];
    const std::string where = std::string(type.op->name) + " in vertex " +
                              std::to_string(row.vertex) + " of " +
                              text_of(run_.tape(ref), ref.tape, ref.node);
    detail::check_finite(run_.common, where, what, op_.dtype, values,
                         std::min(size, type.output_size));
  }
}

void RecursionRun::backward(PassGradients& gradients, std::span<const NodeRef> nodes) {
  if (backward_ == nullptr) backward_ = std::make_unique<RecursionBackward>(*this);
  backward_->run(gradients, nodes);
}

void RecursionRun::contribute(NodeRef node, SharedContributions& to) const {
  backward_->contribute(node, to);
}

}  // namespace dynet_like::detail
