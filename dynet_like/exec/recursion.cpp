// Recursions forward: the inputs of steps, and their calls level by level.
#include "dynet_like/exec/recursion.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/exec/checks.h"
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

/// Makes rows of the steps of a recursion: places of inputs, memory for outputs.
class Maker {
 public:
  Maker(RunState& run, RecursionBatch& of) : run_(run), of_(of) {}

  void make(std::byte* out, std::size_t stride) {
    find_columns();
    of_.rows = make_rows();
    of_.steps.resize(of_.rows.kinds().size());
    for (std::size_t n = 0; n < of_.nodes.size(); ++n) {
      of_.out.push_back(out);
      out += of_.rows.structure(n).size() * stride;
    }
    find_arguments();
    for (std::size_t k = 0; k < of_.steps.size(); ++k) allocate(k);
    for (std::size_t k = 0; k < of_.steps.size(); ++k) list_inputs(k);
  }

 private:
  const std::byte* place_of(NodeRef node, const Value& input) const {
    return run_.state({node.tape, input.node}).value + std::size_t{input.offset} * of_.element;
  }
  void find_columns();
  ColumnSource source_of(NodeRef node, const Value& input, std::size_t size) const;
  VertexRows make_rows() const;
  void find_arguments();
  void allocate(std::size_t kind);
  std::byte* block(std::size_t bytes);
  bool has_early_products(const VertexRows::Kind& kind, const Program::Step& of) const;
  void list_inputs(std::size_t kind);
  const void** list_items(std::size_t kind, const Program::Step& of, unsigned j);
  void list_port(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                 std::size_t step) const;
  void list_numbers(const VertexRows::Kind& kind, const Program::Step& of, Rows& rows);

  RunState& run_;
  RecursionBatch& of_;
};

void Maker::find_columns() {
  const std::size_t inputs = of_.column_inputs();
  of_.columns.reserve(of_.nodes.size() * inputs);
  for (NodeRef ref : of_.nodes) {
    const Tape& tape = run_.tape(ref);
    for (std::size_t i = 0; i < inputs; ++i) {
      const Value& value = tape.value(tape.inputs_of(ref.node)[i]);
      of_.columns.push_back(source_of(ref, value, of_.op.column_sizes[i]));
    }
  }
}

ColumnSource Maker::source_of(NodeRef node, const Value& input, std::size_t size) const {
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
VertexRows Maker::make_rows() const {
  VertexRows::Structures structures;
  std::size_t vertices = 0;
  for (NodeRef ref : of_.nodes) {
    structures.push_back(run_.tape(ref).recursion_of(ref.node).vertices);
    vertices += structures.back()->size();
  }
  const GraphOptions& options = run_.options();
  const bool searched =
      run_.common.is_on_cpu() && of_.nodes.size() > 1 &&
      (options.inference ? run_.recursions.searches.begin(of_.op) : options.share_repeated);
  if (!searched) return {of_.op, std::move(structures)};
  const SameColumns same = options.inference ? SameColumns::bits : SameColumns::origins;
  std::vector<VertexRows::Row> first = find_repeated(of_.op, structures, of_.columns, same);
  VertexRows rows(of_.op, std::move(structures), std::move(first));
  std::size_t kept = 0;
  for (const VertexRows::Kind& kind : rows.kinds()) kept += kind.rows.size();
  if (options.inference) run_.recursions.searches.end(of_.op, vertices - kept, vertices);
  return rows;
}

// Shared inputs are the same for all nodes, as far as a node has them.
void Maker::find_arguments() {
  const NodeRef ref = *std::ranges::find_if(
      of_.nodes, [&](NodeRef node) { return &run_.tape(node).type_of(node.node) == &of_.type; });
  const Tape& tape = run_.tape(ref);
  for (ValueId input : tape.inputs_of(ref.node).subspan(of_.column_inputs())) {
    const Value& value = tape.value(input);
    of_.arguments.push_back(
        {run_.identity_of({ref.tape, value.node}), value.offset, value.reaches_parameter});
    of_.argument_values.push_back(place_of(ref, value));
  }
}

std::byte* Maker::block(std::size_t bytes) {
  of_.blocks.push_back({run_.values.allocate(bytes), bytes});
  return of_.blocks.back().first;
}

void Maker::allocate(std::size_t k) {
  const VertexRows::Kind& kind = of_.rows.kinds()[k];
  const bool inference = run_.options().inference;
  for (const Program::Step& of : kind.program->steps) {
    const std::size_t s = of_.steps[k].size(), states = states_in(*kind.program, s);
    RecursionBatch::Step& step = of_.steps[k].emplace_back();
    step.members = of.members.size();
    step.of_level = inference && !of.is_hoisted && states == 0;
    Rows& rows = step.rows;
    rows.type = &(*of_.op.types)[of.type];
    rows.kernels = &run_.queue->kernels(*rows.type->op);
    rows.items = static_cast<std::uint32_t>(kind.rows.size() * step.members);
    const std::size_t items = step.of_level ? kind.widest_level() * step.members : rows.items;
    if (states < step.members * rows.type->op->parts) rows.out = block(items * rows.stride());
    rows.out_parts = of_.list_parts(k, s, rows.out, of_.out, run_.lists);
    const bool keeps_saved = !inference || rows.type->op->kernels != nullptr;
    if (rows.saved_stride() > 0 && keeps_saved) rows.saved = block(items * rows.saved_stride());
    if (has_early_products(kind, of)) {
      rows.early = {run_.values.allocate(rows.early_bytes(of.early)), of.early};
    }
  }
}

bool Maker::has_early_products(const VertexRows::Kind& kind, const Program::Step& of) const {
  if (of.early.inputs == 0 || !run_.common.is_on_cpu()) return false;
  const auto levels = std::ranges::count_if(
      kind.levels, [](const RowRange& level) { return level.begin < level.end; });
  return is_narrow(kind.rows.size(), static_cast<std::size_t>(levels));
}

void Maker::list_inputs(std::size_t k) {
  const Program& program = *of_.rows.kinds()[k].program;
  for (std::size_t s = 0; s < of_.steps[k].size(); ++s) {
    const Program::Step& of = program.steps[s];
    Rows& rows = of_.steps[k][s].rows;
    auto* const in = run_.lists.allocate_array<Operand>(rows.type->inputs);
    auto* const arguments = run_.lists.allocate_array<SharedArgument>(rows.type->inputs);
    for (unsigned j = 0; j < rows.type->inputs; ++j) {
      if (rows.signature().shared[j] == 0) {
        in[j] = {list_items(k, of, j), nullptr};
        continue;
      }
      const std::uint32_t argument = program.inputs[program.input_of(of, 0, j)].index;
      arguments[j] = of_.arguments[argument];
      in[j] = {nullptr, of_.argument_values[argument]};
      in[j].packed = packed_matrix(run_, *rows.type, j, arguments[j], rows.items);
    }
    rows.in = in;
    rows.arguments = arguments;
    list_numbers(of_.rows.kinds()[k], of, rows);
  }
}

const void** Maker::list_items(std::size_t k, const Program::Step& of, unsigned j) {
  const VertexRows::Kind& kind = of_.rows.kinds()[k];
  const Program& program = *kind.program;
  const std::size_t q = of.members.size();
  auto** const items = run_.lists.allocate_array<const void*>(kind.rows.size() * q);
  for (std::size_t p = 0; p < q; ++p) {
    const Program::Input& input = program.inputs[program.input_of(of, p, j)];
    if (input.from == From::port) {
      list_port(kind, program.ports[input.index], items + p, q);
      continue;
    }
    ItemPlaces from;
    std::size_t each = 0, position = 0;
    bool of_level = false;
    if (input.from == From::argument) {
      from.first = const_cast<std::byte*>(of_.argument_values[input.index]);
    } else {
      const Program::Member& producer = program.members[input.index];
      const RecursionBatch::Step& step = of_.steps[k][producer.step];
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

// The columns, or the states of predecessors, that rows read.
void Maker::list_port(const VertexRows::Kind& kind, const Program::Port& port, const void** items,
                      std::size_t step) const {
  const std::size_t predecessors = kind.program->kind.predecessors;
  const std::size_t offset = port.offset * of_.element;
  for (std::size_t row = 0; row < kind.rows.size(); ++row, items += step) {
    if (port.is_state) {
      const VertexRows::Row& before = kind.before[row * predecessors + port.predecessor];
      *items = of_.state_in(of_.out[before.sample], before, port.index) + offset;
    } else {
      const auto& [sample, vertex] = kind.rows[row];
      *items = of_.columns[sample * of_.column_inputs() + port.index].place +
               of_.op.begin_of_column(of_.rows.structure(sample), vertex, port.index) + offset;
    }
  }
}

void Maker::list_numbers(const VertexRows::Kind& kind, const Program::Step& of, Rows& rows) {
  const Op& op = *rows.type->op;
  const std::size_t integers = rows.signature().integers, reals = op.numbers.reals;
  if (integers + reals == 0) return;
  auto* const all = run_.lists.allocate_array<std::uint32_t>(rows.items * integers);
  auto* const real = run_.lists.allocate_array<std::byte>(rows.items * reals * of_.element);
  for (std::size_t i = 0; i < rows.items; ++i) {
    const Program::Numbers& numbers =
        kind.program->members[of.members[i % of.members.size()]].numbers;
    if (op.numbers.random) {
      const VertexRows::Row& row = kind.rows[i / of.members.size()];
      const NodeRef node = of_.nodes[row.sample];
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
      if (of_.op.dtype == DType::f32) {
        reinterpret_cast<float*>(real)[i * reals + r] = static_cast<float>(numbers.reals[r]);
      } else {
        reinterpret_cast<double*>(real)[i * reals + r] = numbers.reals[r];
      }
    }
  }
  if (integers > 0) rows.integers = all;
  if (reals > 0) rows.reals = real;
}

// Runs steps of these rows of a kind. `lists` has the lists of one call.
void run_steps(RunState& run, const RecursionBatch& of, std::size_t k, RowRange range, bool hoisted,
               Arena& lists) {
  const Program& program = *of.rows.kinds()[k].program;
  for (std::size_t s = 0; s < of.steps[k].size(); ++s) {
    if (program.steps[s].is_hoisted != hoisted) continue;
    const RecursionBatch::Step& step = of.steps[k][s];
    lists.reset();
    Rows rows = part_of(step.rows, step.item(range.begin, 0), range.size() * step.members, lists);
    if (step.of_level) {
      rows.out = step.rows.out;
      rows.saved = step.rows.saved;
    }
    forward_rows(run, rows, run.counts.of_types[of.type.id]);
    check_finite(run, of, {k, s, range}, "value", rows.out, rows.out_parts);
  }
}

void run_early_products(RunState& run, const RecursionBatch& of) {
  for (const std::vector<RecursionBatch::Step>& steps : of.steps) {
    for (const RecursionBatch::Step& step : steps) {
      if (step.rows.early.first == nullptr) continue;
      forward_early(run, step.rows, run.counts.of_types[of.type.id]);
    }
  }
}

// The backward pass only needs to know which products were early.
void give_back_early_sums(RunState& run, RecursionBatch& of) {
  for (std::vector<RecursionBatch::Step>& steps : of.steps) {
    for (RecursionBatch::Step& step : steps) {
      EarlySums& early = step.rows.early;
      if (early.first == nullptr) continue;
      run.values.give_back(early.first, step.rows.early_bytes(early.products));
      early.first = nullptr;
    }
  }
}

// Copies the states of repeated vertices to their nodes.
void copy_repeated(const RecursionBatch& of) {
  if (!of.rows.repeats()) return;
  of.rows.for_each_vertex([&](const VertexRows::Row& row) {
    const VertexRows::Row first = of.rows.first(row);
    if (first == row) return;
    for (std::uint32_t state = 0; state < of.op.state_sizes.size(); ++state) {
      std::memcpy(of.state_in(of.out[row.sample], row, state),
                  of.state_in(of.out[first.sample], first, state),
                  of.op.state_sizes[state] * of.element);
    }
  });
}

}  // namespace

std::shared_ptr<RecursionBatch> run_recursion(RunState& run, const Batch& batch,
                                              std::span<const NodeRef> nodes) {
  auto recursion = std::make_shared<RecursionBatch>(*batch.type, nodes);
  RecursionBatch& of = *recursion;
  Maker(run, of).make(batch.out, batch.stride());
  Arena lists;
  for (std::size_t k = 0; k < of.steps.size(); ++k) {
    run_steps(run, of, k, of.rows.kinds()[k].all_rows(), true, lists);
  }
  run_early_products(run, of);
  for (std::uint32_t level = 0; level < of.rows.levels(); ++level) {
    for (const VertexRows::OfKind& rows : of.rows.of_level(level)) {
      run_steps(run, of, rows.kind, rows.rows, false, lists);
    }
  }
  give_back_early_sums(run, of);
  copy_repeated(of);
  for (const VertexRows::Kind& kind : of.rows.kinds()) {
    run.counts.recursion_flops +=
        kind.program->product_flops * static_cast<double>(kind.rows.size());
  }
  return recursion;
}

void give_back(RunState& run, RecursionBatch& recursion) {
  for (const auto& [memory, bytes] : recursion.blocks) run.values.give_back(memory, bytes);
  recursion.blocks.clear();
}

void check_finite(const RunState& run, const RecursionBatch& of, const StepRows& rows,
                  const char* what, const std::byte* block, void* const* parts) {
  if (!run.options().detect_anomaly) return;
  const RecursionBatch::Step& step = of.steps[rows.kind][rows.step];
  const Signature& type = step.rows.signature();
  const std::size_t items = rows.range.size() * step.members;
  const auto name_of = [&](std::size_t item) {
    const std::size_t row = rows.range.begin + item / step.members;
    const VertexRows::Row& vertex = of.rows.kinds()[rows.kind].rows[row];
    const NodeRef ref = of.nodes[vertex.sample];
    return std::string(type.op->name) + " in vertex " + std::to_string(vertex.vertex) + " of " +
           text_of(run.tape(ref), ref.tape, ref.node);
  };
  if (parts == nullptr) {
    return check_finite(run.common, what, type.dtype, block, items * type.output_size,
                        [&](std::size_t& element) {
                          const std::size_t item = element / type.output_size;
                          element %= type.output_size;
                          return name_of(item);
                        });
  }
  for (std::size_t part = 0; part < items * type.op->parts; ++part) {
    check_finite(run.common, what, type.dtype, static_cast<const std::byte*>(parts[part]),
                 part_size(type), [&](std::size_t&) { return name_of(part / type.op->parts); });
  }
}

std::size_t RecursionBatch::index_of(const std::byte* output) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(out, output) - out.begin());
}

std::byte* RecursionBatch::state_in(std::byte* node, const VertexRows::Row& row,
                                    std::uint32_t state) const {
  const std::size_t before =
      std::size_t{op.state_offsets[state]} * rows.structure(row.sample).size();
  return node + (before + std::size_t{row.vertex} * op.state_sizes[state]) * element;
}

void** RecursionBatch::list_parts(std::size_t k, std::size_t s, std::byte* block,
                                  std::span<std::byte* const> of_nodes, Arena& lists) const {
  const VertexRows::Kind& kind = rows.kinds()[k];
  if (states_in(*kind.program, s) == 0) return nullptr;
  const Step& step = steps[k][s];
  const std::size_t parts = step.rows.type->op->parts, each = step.members * parts;
  auto** const all = lists.allocate_array<void*>(kind.rows.size() * each);
  const std::size_t stride = step.rows.stride() / parts;
  for (std::size_t i = 0; block != nullptr && i < kind.rows.size() * each; ++i) {
    all[i] = block + i * stride;
  }
  for (std::uint32_t state = 0; state < op.state_sizes.size(); ++state) {
    const Program::Result& result = kind.program->results[state];
    const Program::Member& member = kind.program->members[result.member];
    if (member.step != s) continue;
    void** next = all + member.position * parts + result.part;
    for (const VertexRows::Row& row : kind.rows) {
      *next = state_in(of_nodes[row.sample], row, state);
      next += each;
    }
  }
  return all;
}

VertexRows::Row RecursionBatch::owner(const VertexRows::Row& row) const {
  if (rows.repeats()) return contributions.owners[rows.index(row)];
  return contributions.is_wanted[row.sample] ? row : VertexRows::Row{kNone, 0};
}

}  // namespace dynet_like::detail
