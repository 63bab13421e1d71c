// Recording a function once for every kind of vertices, and recursions as one node.
#include "dynet_like/graph/recursion.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "dynet_like/core/errors.h"
#include "dynet_like/exec/recursion_op.h"
#include "dynet_like/graph/recording.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

/// A graph on which a function records what a vertex does.
class VertexGraph : public ComputationGraph {
 public:
  explicit VertexGraph(const GraphOptions& options) : ComputationGraph(options) {
    records_function();
  }
};

Dim recursion_shape(std::span<const Dim>, std::span<const std::uint32_t> attributes) {
  return Dim({attributes[1]});
}
Join recursion_join(unsigned input, std::span<const std::uint32_t> attributes) {
  return input < attributes[0] ? Join::stacked : Join::broadcast;
}
SharedGradient recursion_gradient(const Signature& type, unsigned input) {
  return input < type.attributes[0] ? SharedGradient::dense : SharedGradient::listed;
}

}  // namespace

/// What the function does with columns of one size, in one type of numbers.
struct RecordedFunction::Definition {
  DType dtype = DType::f32;
  Dim column;
  std::unique_ptr<VertexGraph> graph;
  SharedArguments shared;
  std::vector<Dim> state_dims;
  /// The last one has all kinds that were met; graphs may still run the others.
  std::vector<std::shared_ptr<const RecursionOp>> ops;
};

struct RecordedFunction::Definitions {
  std::mutex mutex;
  std::vector<std::unique_ptr<Definition>> all;

  Definition& find(DType dtype, const Dim& column);
  std::shared_ptr<const RecursionOp> op_of(const VertexFunction& function, DType dtype,
                                           const Dim& column, const Vertices& vertices);
  VertexProgram record(const VertexFunction& function, Definition& definition,
                       const VertexKind& kind);
  void check_states(const VertexFunction& function, Definition& definition, const Tape& tape,
                    std::span<const ValueId> states);
};

RecordedFunction::Definition& RecordedFunction::Definitions::find(DType dtype, const Dim& column) {
  for (const std::unique_ptr<Definition>& definition : all) {
    if (definition->dtype == dtype && definition->column == column) return *definition;
  }
  auto fresh = std::make_unique<Definition>();
  fresh->dtype = dtype;
  fresh->column = column;
  GraphOptions options;
  options.dtype = dtype;
  options.device = cpu_device();
  static Random never_drawn;
  options.random = &never_drawn;
  fresh->graph = std::make_unique<VertexGraph>(options);
  all.push_back(std::move(fresh));
  return *all.back();
}

std::shared_ptr<const RecursionOp> RecordedFunction::Definitions::op_of(
    const VertexFunction& function, DType dtype, const Dim& column, const Vertices& vertices) {
  const std::lock_guard lock(mutex);
  Definition& definition = find(dtype, column);
  const auto knows = [](const RecursionOp& op, const VertexKind& kind) {
    return op.find(kind) != nullptr;
  };
  if (!definition.ops.empty()) {
    const auto& last = definition.ops.back();
    if (std::all_of(vertices.kinds.begin(), vertices.kinds.end(),
                    [&](const VertexKind& kind) { return knows(*last, kind); })) {
      return last;
    }
  }
  auto op = definition.ops.empty() ? std::make_shared<RecursionOp>()
                                   : std::make_shared<RecursionOp>(*definition.ops.back());
  // Those without predecessors say what states there are.
  std::vector<VertexKind> kinds = vertices.kinds;
  std::stable_sort(kinds.begin(), kinds.end(), [](const VertexKind& a, const VertexKind& b) {
    return a.predecessors < b.predecessors;
  });
  for (const VertexKind& kind : kinds) {
    if (!knows(*op, kind)) op->programs.push_back(record(function, definition, kind));
  }
  op->order.resize(op->programs.size());
  std::iota(op->order.begin(), op->order.end(), 0);
  std::sort(op->order.begin(), op->order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return op->programs[a].kind < op->programs[b].kind;
  });
  op->recipes = make_recipes(definition.graph->tape(), definition.shared, op->shared);
  op->its_name = function.name;
  op->name = op->its_name;
  op->formula = "a function of every vertex of a structure";
  op->role = Role::recursion;
  op->min_inputs = 0;
  op->max_inputs = Op::kAnyNumber;
  op->shape = recursion_shape;
  op->batching.join = recursion_join;
  op->batching.shareable = false;
  op->gradient.shared = recursion_gradient;
  op->reads_columns = definition.column.nd > 0;
  if (op->reads_columns) op->batching.open_inputs = 1;
  op->column_size = op->reads_columns ? definition.column.size() : 0;
  op->dtype = definition.dtype;
  op->types = definition.graph->tape().shared_types();
  op->state_dims = definition.state_dims;
  op->state_sizes.clear();
  op->state_offsets.clear();
  op->state_size = 0;
  for (const Dim& dim : definition.state_dims) {
    op->state_sizes.push_back(dim.size());
    op->state_offsets.push_back(op->state_size);
    op->state_size += dim.size();
  }
  definition.ops.push_back(op);
  return op;
}

VertexProgram RecordedFunction::Definitions::record(const VertexFunction& function,
                                                    Definition& definition,
                                                    const VertexKind& kind) {
  ComputationGraph& graph = *definition.graph;
  Tape& tape = graph.tape();
  static const float nothing = 0;  // what stands in is never read
  RecordedVertex recorded;
  recorded.kind = kind;
  const auto stand_in = [&](const Dim& dim, std::vector<ValueId>& to) {
    to.push_back(tape.add_input_at(dim, &nothing));
    return graph.expression(to.back());
  };
  const Expression column =
      kind.reads_column ? stand_in(definition.column, recorded.column) : Expression();
  if (kind.predecessors > 0 && definition.state_dims.empty()) {
    throw UsageError("[" + function.name + "] need a vertex without predecessors first; got none");
  }
  std::vector<Expression> before;
  for (std::uint32_t p = 0; p < kind.predecessors; ++p) {
    for (const Dim& dim : definition.state_dims) before.push_back(stand_in(dim, recorded.states));
  }
  for (const Expression& state : function.record(kind.number, column, before)) {
    if (&state.graph(function.name.c_str()) != &graph) {
      throw UsageError("[" + function.name +
                       "] need states of what the function was given; got an expression of "
                       "another graph");
    }
    // A state is the output of an operation of the vertex.
    const Value& value = tape.value(state.i);
    const bool is_operation =
        value.identity == 0 && value.items == 1 && tape.type_of(value.node).op->role != Role::input;
    recorded.results.push_back(is_operation ? state.i
                                            : tape.add(ops::identity, std::span(&state.i, 1)));
    if (tape.value(recorded.results.back()).identity != 0) {
      throw UsageError("[" + function.name +
                       "] need states that depend on a column or a predecessor; got one of "
                       "parameters alone: add it to zeros of the column's");
    }
  }
  check_states(function, definition, tape, recorded.results);
  return make_vertex_program(function.name, tape, recorded, definition.shared);
}

void RecordedFunction::Definitions::check_states(const VertexFunction& function,
                                                 Definition& definition, const Tape& tape,
                                                 std::span<const ValueId> states) {
  std::vector<Dim> dims;
  for (ValueId state : states) dims.push_back(tape.dim_of(state));
  if (dims.size() != function.states) {
    throw UsageError("[" + function.name + "] need " + std::to_string(function.states) +
                     " states; got " + std::to_string(dims.size()));
  }
  if (definition.state_dims.empty()) definition.state_dims = dims;
  for (std::size_t s = 0; s < dims.size(); ++s) {
    if (dims[s] == definition.state_dims[s]) continue;
    throw ShapeError("[" + function.name + "] need states of one shape from all vertices, " +
                     to_string(definition.state_dims[s]) + "; got " + to_string(dims[s]));
  }
}

namespace {

Dim column_of(const Expression& columns, const Vertices& vertices, const std::string& name) {
  Dim dim = columns.dim();
  const unsigned have = dim.nd < 2 ? 1 : dim.d[dim.nd - 1];
  if (dim.bd != 1 || have < vertices.columns) {
    throw ShapeError("[" + name + "] need a matrix of at least " +
                     std::to_string(vertices.columns) + " columns, one for each vertex; got " +
                     to_string(dim));
  }
  if (dim.nd >= 2) dim.delete_dim(dim.nd - 1);
  return dim;
}

}  // namespace

RecordedFunction::RecordedFunction(VertexFunction function)
    : function_(std::move(function)), definitions_(std::make_unique<Definitions>()) {}
RecordedFunction::~RecordedFunction() = default;

RecordedStates RecordedFunction::record(const Structure& structure, const Expression& columns) {
  return record(recording::graph_of(function_.name, columns), structure, columns);
}

RecordedStates RecordedFunction::record(ComputationGraph& graph, const Structure& structure,
                                        const Expression& columns) {
  if (graph.records_a_function()) {
    throw UsageError("[" + function_.name +
                     "] need a function without recursions inside; got one: apply it to all "
                     "columns before");
  }
  Tape& tape = graph.tape();
  const Vertices& vertices = *structure.vertices();
  if (vertices.size() == 0) {
    throw UsageError("[" + function_.name + "] need at least one vertex; got none");
  }
  const bool reads = columns.slot != nullptr;
  if (!reads && vertices.columns > 0) {
    throw UsageError("[" + function_.name + "] need a matrix whose columns the vertices read; " +
                     "got none");
  }
  const std::shared_ptr<const RecursionOp> op =
      definitions_->op_of(function_, tape.dtype(),
                          reads ? column_of(columns, vertices, function_.name) : Dim(), vertices);
  if (op->most_random() > 0 && !graph.has_random()) {
    throw UsageError("[" + function_.name +
                     "] need random numbers; got a graph without: set GraphOptions::random");
  }
  std::vector<ValueId> inputs;
  if (reads) inputs.push_back(columns.i);
  op->add_shared(tape, inputs);
  const ValueId node =
      tape.add_recursion(op, inputs, op->state_size, op->most_random(), structure.vertices());
  return {graph.expression(node), op, vertices.size()};
}

Expression RecordedStates::all(std::size_t state) const {
  Dim dim = op->state_dims[state];
  dim.add_dim(size);
  return view(op->state_offsets[state] * size, dim);
}

Expression RecordedStates::one(std::size_t state, std::uint32_t vertex) const {
  if (vertex >= size) {
    throw UsageError("[" + op->its_name + "] need a vertex below " + std::to_string(size) +
                     "; got " + std::to_string(vertex));
  }
  return view(op->state_offsets[state] * size + vertex * op->state_sizes[state],
              op->state_dims[state]);
}

Expression RecordedStates::view(std::uint32_t offset, const Dim& dim) const {
  ComputationGraph& graph = recording::graph_of(op->its_name, node);
  Tape& tape = graph.tape();
  Value view = tape.value(node.i);
  view.offset += offset;
  view.shape = tape.cache().shape(dim, op->dtype);
  view.items = 1;
  view.stride = dim.batch_size();
  return graph.expression(tape.add_view(view));
}

}  // namespace dynet_like::detail
