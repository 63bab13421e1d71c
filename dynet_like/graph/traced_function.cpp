// TracedFunction: records a function once for each kind of arguments, and its applications as
// nodes.
#include "dynet_like/graph/traced_function.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/recording.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/program/make_program.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostDefinitions = 1024;
constexpr std::size_t kMostStates = 16384;  // of all predecessors of a vertex
constexpr std::size_t kMostInputs = 31;     // an op has a bit for each input with columns

// The name of the function that this thread records. It holds a lock, so it must not wait.
thread_local const std::string* recorded_function = nullptr;

class FunctionScope {
 public:
  explicit FunctionScope(const std::string& name) { recorded_function = &name; }
  ~FunctionScope() { recorded_function = nullptr; }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;
};

/// The message of an error in the function `name`, which names the function.
std::string in_function(const std::string& name, const std::string& message) {
  if (message.starts_with("[" + name + "]")) return message;
  return message + " (in the function " + quoted_text(name) + ")";
}

/// Calls a user's function.
template <class F>
std::vector<Expression> states_of(const std::string& name, const F& function) {
  const FunctionScope scope(name);
  try {
    return function();
  } catch (const ShapeError& error) {
    throw ShapeError(in_function(name, error.what()));
  } catch (const UsageError& error) {
    throw UsageError(in_function(name, error.what()));
  } catch (const StateError& error) {
    throw StateError(in_function(name, error.what()));
  }
}

/// Reverts what a function records, unless `keep` is called.
class Attempt {
 public:
  Attempt(TapeWriter& writer, SharedArguments& shared)
      : writer_(writer), shared_(shared), mark_(writer.mark()), arguments_(shared.size()) {}
  ~Attempt() {
    if (is_kept_) return;
    shared_.resize(arguments_);
    writer_.revert(mark_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  void keep() { is_kept_ = true; }

 private:
  TapeWriter& writer_;
  SharedArguments& shared_;
  TapeWriter::Mark mark_;
  std::size_t arguments_;
  bool is_kept_ = false;
};

/// A graph on which the function for a vertex is recorded.
class VertexGraph : public ComputationGraph {
 public:
  explicit VertexGraph(const GraphOptions& options) : ComputationGraph(options) {
    record().record_function();
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

/// The recording of the function for arguments of these shapes and this type, in training or
/// inference.
struct TracedFunction::Definition {
  DType dtype = DType::f32;
  std::vector<Dim> columns;
  std::uint32_t starts = 0;  ///< this many of the last columns are initial states
  bool is_call = false;      ///< of a cell: one vertex, with all arguments as columns
  std::unique_ptr<VertexGraph> graph;
  SharedArguments shared;
  FormulaOps formulas;
  std::vector<Dim> state_dims;
  /// For all kinds of vertices so far. Graphs may still run older ops, with fewer kinds.
  std::shared_ptr<const RecursionOp> op;
  std::shared_ptr<const Vertices> vertex;  ///< of a cell
};

struct TracedFunction::Definitions {
  explicit Definitions(const std::string& of) : name(of) {}

  const std::string& name;
  std::mutex mutex;
  /// By their keys: see `find`.
  std::map<std::vector<std::uint64_t>, std::unique_ptr<Definition>> all;
  std::vector<std::uint64_t> words;                             ///< the key in search
  decltype(all)::iterator last = all.end(), fresh = all.end();  ///< last found; last made

  Definition& find(const ComputationGraph& graph, std::span<const Dim* const> columns, bool is_call,
                   std::span<const std::uint64_t> key);
  Definition& find(const ComputationGraph& graph, std::span<const Dim> columns, unsigned starts);
  /// The op for the kinds of these vertices, whose node `graph` is about to record. The function is
  /// called if need be, and must not use the graph meanwhile.
  std::shared_ptr<const RecursionOp> op_for(const ComputationGraph& graph, Definition& definition,
                                            const Vertices& vertices, const Record& record);
  void add_kinds(Definition& definition, const Vertices& vertices, const Record& record);
  void complete(RecursionOp& op, const Definition& definition) const;
  Program trace(Definition& definition, const VertexKind& kind, const Record& record);
  /// Calls the function again. Throws UsageError if it records something else.
  void verify(Definition& definition, const Vertices& vertices, const Record& record);
  /// The value of a part of a state that the function left empty.
  ValueId zeros_for(const Definition& definition, TapeWriter& writer, std::size_t state) const;
  void check_states(Definition& definition, const Tape& tape, std::span<const ValueId> states);
};

TracedFunction::Definition& TracedFunction::Definitions::find(const ComputationGraph& graph,
                                                              std::span<const Dim* const> columns,
                                                              bool is_call,
                                                              std::span<const std::uint64_t> key) {
  const DType dtype = graph.record().tape().dtype();
  words = {static_cast<std::uint64_t>(dtype), graph.trains(), is_call, key.size()};
  words.insert(words.end(), key.begin(), key.end());
  for (const Dim* column : columns) {
    words.push_back(std::uint64_t{column->bd} << 32 | column->nd);
    words.insert(words.end(), column->d, column->d + column->nd);
  }
  if (last != all.end() && last->second->op != nullptr && last->first == words) {
    return *last->second;
  }
  if (fresh != all.end() && fresh->second->op == nullptr) all.erase(fresh);  // its function threw
  fresh = all.end();
  last = all.find(words);
  if (last != all.end()) return *last->second;
  if (all.size() == kMostDefinitions) {
    throw UsageError("[" + name + "] need at most " + std::to_string(kMostDefinitions) +
                     " different numbers and shapes of arguments; got more: give a number that "
                     "differs from call to call as an expression, and a row of a table as what "
                     "lookup returns");
  }
  auto definition = std::make_unique<Definition>();
  definition->dtype = dtype;
  for (const Dim* column : columns) definition->columns.push_back(*column);
  definition->is_call = is_call;
  GraphOptions options;
  options.dtype = dtype;
  options.inference = !graph.trains();
  options.device = cpu_device();
  options.seed = 0;  // no random number depends on it
  definition->graph = std::make_unique<VertexGraph>(options);
  last = fresh = all.emplace(words, std::move(definition)).first;
  return *fresh->second;
}

TracedFunction::Definition& TracedFunction::Definitions::find(const ComputationGraph& graph,
                                                              std::span<const Dim> columns,
                                                              unsigned starts) {
  std::vector<const Dim*> places;
  for (const Dim& dim : columns) places.push_back(&dim);
  const std::uint64_t key = starts;
  Definition& definition = find(graph, places, false, std::span(&key, 1));
  definition.starts = starts;
  const auto first = columns.subspan(columns.size() - starts);
  if (definition.state_dims.empty()) definition.state_dims.assign(first.begin(), first.end());
  return definition;
}

std::shared_ptr<const RecursionOp> TracedFunction::Definitions::op_for(
    const ComputationGraph& graph, Definition& definition, const Vertices& vertices,
    const Record& record) {
  const OneThread::Closed closed(graph.record().user());
  add_kinds(definition, vertices, record);
  if (graph.record().options().verify_batching) verify(definition, vertices, record);
  return definition.op;
}

void TracedFunction::Definitions::add_kinds(Definition& definition, const Vertices& vertices,
                                            const Record& record) {
  const RecursionOp* const before = definition.op.get();
  std::vector<VertexKind> kinds;  // the new ones
  std::ranges::copy_if(vertices.kinds, std::back_inserter(kinds), [&](const VertexKind& kind) {
    return before == nullptr || before->find(kind) == nullptr;
  });
  if (kinds.empty()) return;
  // Kinds without predecessors come first: they define the shapes of states.
  std::ranges::stable_sort(kinds, {}, &VertexKind::predecessors);
  auto op =
      before == nullptr ? std::make_shared<RecursionOp>() : std::make_shared<RecursionOp>(*before);
  Attempt attempt(definition.graph->record().writer(), definition.shared);
  for (const VertexKind& kind : kinds) {
    op->programs.push_back(std::make_shared<Program>(trace(definition, kind, record)));
  }
  complete(*op, definition);
  definition.op = std::move(op);
  attempt.keep();
}

// Sets everything but the programs.
void TracedFunction::Definitions::complete(RecursionOp& op, const Definition& definition) const {
  std::ranges::sort(op.programs, {}, [](const auto& program) { return program->kind; });
  op.recipes = make_recipes(definition.graph->record().tape(), definition.shared, op.shared);
  op.its_name = name;
  op.name = op.its_name;
  op.formula = definition.is_call ? "a function" : "a function of every vertex of a structure";
  op.role = Role::recursion;
  op.min_inputs = 0;
  op.max_inputs = Op::kAnyNumber;
  op.shape = recursion_shape;
  op.batching.join = recursion_join;
  op.batching.shareable = false;
  op.gradient.shared = recursion_gradient;
  op.column_sizes.clear();
  for (const Dim& column : definition.columns) op.column_sizes.push_back(column.size());
  op.starts = definition.starts;
  if (!definition.is_call) {
    op.batching.open_inputs = (std::uint32_t{1} << definition.columns.size()) - 1;
  }
  op.dtype = definition.dtype;
  op.types = definition.graph->record().tape().shared_types();
  op.state_dims = definition.state_dims;
  op.state_sizes.clear();
  op.state_offsets.clear();
  op.state_size = 0;
  for (const Dim& dim : definition.state_dims) {
    op.state_sizes.push_back(dim.size());
    op.state_offsets.push_back(op.state_size);
    op.state_size += dim.size();
  }
}

Program TracedFunction::Definitions::trace(Definition& definition, const VertexKind& kind,
                                           const Record& record) {
  ComputationGraph& graph = *definition.graph;
  TapeWriter& writer = graph.record().writer();
  const Tape& tape = writer.tape();
  static const float nothing = 0;  // placeholders are never read
  if (std::size_t{kind.predecessors} * definition.state_dims.size() > kMostStates) {
    throw UsageError("[" + name + "] need at most " + counted(kMostStates, "state") +
                     " that a vertex reads; got " + counted(kind.predecessors, "predecessor") +
                     ", with " + counted(definition.state_dims.size(), "state"));
  }
  RecordedVertex recorded;
  recorded.kind = kind;
  recorded.first = static_cast<NodeId>(tape.size());
  std::vector<Expression> inputs, columns, before;
  const auto stand_in = [&](const Dim& dim, std::vector<ValueId>& to,
                            std::vector<Expression>& all) {
    to.push_back(writer.add_input_at(dim, {.place = &nothing}));
    all.push_back(graph.expression(to.back()));
  };
  for (const Dim& dim : definition.columns) stand_in(dim, recorded.columns, inputs);
  for (std::size_t i = 0; i < inputs.size() - definition.starts; ++i) {
    columns.push_back(kind.reads_matrix(i) ? inputs[i] : Expression());
  }
  if (kind.predecessors == 0) {
    before.assign(inputs.end() - static_cast<std::ptrdiff_t>(definition.starts), inputs.end());
  }
  if (kind.predecessors > 0 && definition.state_dims.empty()) {
    throw UsageError("[" + name + "] need a vertex without predecessors first; got none");
  }
  for (std::uint32_t p = 0; p < kind.predecessors; ++p) {
    for (const Dim& dim : definition.state_dims) stand_in(dim, recorded.states, before);
  }
  const std::vector<Expression> states =
      states_of(name, [&] { return record(graph, kind.number, columns, before); });
  for (auto node = recorded.first; node < tape.size(); ++node) {
    if (tape.type_of(node).op->numbers.random) recorded.draw[node] = recorded.draws++;
  }
  for (const Expression& state : states) {
    if (state.empty()) {
      recorded.results.push_back(zeros_for(definition, writer, recorded.results.size()));
      continue;
    }
    if (&state.graph(name.c_str()) != &graph) {
      throw UsageError("[" + name +
                       "] need states made of the function's arguments; got an expression of "
                       "another graph");
    }
    // A state is the output of an operation, or depends on parameters alone: copies arguments.
    const Value& value = tape.value(state.i);
    const bool is_argument = value.identity == 0 &&
                             (value.items != 1 || tape.type_of(value.node).op->role == Role::input);
    recorded.results.push_back(is_argument ? writer.add(ops::identity, std::span(&state.i, 1))
                                           : state.i);
  }
  if (reads_earlier_nodes(tape, recorded)) {
    throw UsageError("[" + name +
                     "] need a function that keeps no expression from call to call; got one of an "
                     "earlier call");
  }
  check_states(definition, tape, recorded.results);
  return make_program(name, tape, join_elementwise(writer, recorded, definition.formulas),
                      definition.shared);
}

ValueId TracedFunction::Definitions::zeros_for(const Definition& definition, TapeWriter& writer,
                                               std::size_t state) const {
  if (definition.state_dims.empty()) {
    const char* const from =
        definition.is_call ? ""
                           : " from the first kind of vertices, which has the fewest predecessors";
    throw UsageError("[" + name + "] need all parts of a state" + from + "; got an empty part " +
                     std::to_string(state) + ": return zeros of its shape");
  }
  const double zero = 0;
  return writer.add_source(ops::constant, definition.state_dims[state], std::span(&zero, 1));
}

void TracedFunction::Definitions::verify(Definition& definition, const Vertices& vertices,
                                         const Record& record) {
  TapeWriter& writer = definition.graph->record().writer();
  for (const VertexKind& kind : vertices.kinds) {
    const Attempt attempt(writer, definition.shared);
    const Program again = trace(definition, kind, record);
    if (does_the_same(again, *definition.op->find(kind), writer.tape().types())) continue;
    throw UsageError("[" + name +
                     "] need a function that does the same whenever it is called with arguments of "
                     "the same shapes and numbers; got one that now does something else: what it "
                     "depends on must be an argument");
  }
}

void TracedFunction::Definitions::check_states(Definition& definition, const Tape& tape,
                                               std::span<const ValueId> states) {
  std::vector<Dim> dims;
  for (ValueId state : states) dims.push_back(tape.dim_of(state));
  if (definition.state_dims.empty()) definition.state_dims = dims;
  for (std::size_t s = 0; s < dims.size(); ++s) {
    if (dims[s] == definition.state_dims[s]) continue;
    throw ShapeError("[" + name + "] need states of one shape from all vertices, " +
                     to_string(definition.state_dims[s]) + "; got " + to_string(dims[s]));
  }
}

namespace {

Dim column_of(const Expression& columns, std::uint32_t need, const std::string& name) {
  Dim dim = columns.dim();
  const unsigned have = dim.nd < 2 ? 1 : dim.d[dim.nd - 1];
  if (dim.bd != 1 || have < need) {
    throw ShapeError("[" + name + "] need a matrix of at least " + counted(need, "column") +
                     ", which the vertices read; got " + to_string(dim));
  }
  if (dim.nd >= 2) dim.delete_dim(dim.nd - 1);
  return dim;
}

// One vertex that reads the first column of every input, which is the whole argument.
std::shared_ptr<const Vertices> one_vertex(bool reads_columns) {
  const Structure::Vertex vertex{{}, reads_columns ? 0 : Structure::kNoColumn, 0};
  return Structure(std::span(&vertex, 1)).vertices();
}

}  // namespace

Expression only_column(const std::string& name, const std::vector<Expression>& columns) {
  if (columns.size() > 1) {
    throw UsageError("[" + name +
                     "] need a function of `const std::vector<Expression>& columns` "
                     "for several input matrices; got a function of one column, and " +
                     counted(columns.size(), "matrix", "matrices"));
  }
  return columns.empty() ? Expression() : columns[0];
}

TracedFunction::TracedFunction(std::string name)
    : name_(std::move(name)), definitions_(std::make_unique<Definitions>(name_)) {}
TracedFunction::~TracedFunction() = default;

bool TracedFunction::is_being_recorded() { return recorded_function != nullptr; }

RecordedStates TracedFunction::run(ComputationGraph& graph, const Structure& structure,
                                   std::span<const Expression> columns,
                                   std::span<const Expression> start, const Record& record) {
  const recording::Recorder here(graph);
  if (graph.record().records_a_function() || is_being_recorded()) {
    throw UsageError("[" + name_ +
                     "] need a function that applies no recursion; got one that does: apply "
                     "it to all columns first");
  }
  const Vertices& vertices = *structure.vertices();
  if (vertices.size() == 0) {
    throw UsageError("[" + name_ + "] need at least one vertex; got none");
  }
  if (columns.empty() && vertices.matrix(0).columns > 0) {
    throw UsageError("[" + name_ + "] need a matrix whose columns the vertices read; got none");
  }
  if (vertices.matrices.size() > 1 && columns.size() != vertices.matrices.size()) {
    throw UsageError("[" + name_ + "] need as many matrices as the vertices have columns, " +
                     std::to_string(vertices.matrices.size()) + "; got " +
                     std::to_string(columns.size()));
  }
  if (columns.size() + start.size() > kMostInputs) {
    throw UsageError("[" + name_ + "] need at most " + std::to_string(kMostInputs) +
                     " input matrices and initial states; got " +
                     std::to_string(columns.size() + start.size()));
  }
  std::vector<Expression> inputs(columns.begin(), columns.end());
  for (const Expression& state : start) inputs.push_back(here.expression_of(state));
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    dims.push_back(column_of(columns[i], vertices.matrix(i).columns, name_));
  }
  for (const Expression& state : std::span(inputs).subspan(columns.size())) {
    if (&state.graph(name_.c_str()) != &graph || state.dim().bd != 1) {
      throw ShapeError("[" + name_ + "] need an initial state of this graph; got " +
                       (state.dim().bd != 1 ? to_string(state.dim()) : "one of another"));
    }
    dims.push_back(state.dim());
  }
  std::unique_lock lock(definitions_->mutex);
  Definition& definition = definitions_->find(graph, dims, static_cast<unsigned>(start.size()));
  const auto op = definitions_->op_for(graph, definition, vertices, record);
  lock.unlock();
  return this->record(graph, op, inputs, structure.vertices());
}

RecordedStates TracedFunction::call(ComputationGraph& graph, std::span<const Expression> given,
                                    std::span<const std::uint64_t> key, const Record& record) {
  const recording::Recorder here(graph);
  if (is_being_recorded()) {
    throw UsageError("[" + name_ +
                     "] need a function that calls cells with what it is given; got " +
                     *recorded_function + ", which calls one on another graph");
  }
  std::vector<Expression> arguments;
  std::vector<const Dim*> dims;
  for (const Expression& argument : given) arguments.push_back(here.expression_of(argument));
  for (const Expression& argument : arguments) {
    if (&argument.graph(name_.c_str()) != &graph) {
      throw UsageError("[" + name_ + "] need arguments of one graph; got some of another");
    }
    dims.push_back(&argument.dim());
    if (dims.back()->bd != 1) {
      throw ShapeError("[" + name_ + "] need arguments without minibatch dimension; got " +
                       to_string(*dims.back()) + ": record one graph per sample");
    }
  }
  std::unique_lock lock(definitions_->mutex);
  Definition& definition = definitions_->find(graph, dims, true, key);
  if (definition.vertex == nullptr) definition.vertex = one_vertex(!arguments.empty());
  const auto op = definitions_->op_for(graph, definition, *definition.vertex, record);
  lock.unlock();
  return this->record(graph, op, arguments, definition.vertex);
}

RecordedStates TracedFunction::record(ComputationGraph& graph,
                                      const std::shared_ptr<const RecursionOp>& op,
                                      std::span<const Expression> columns,
                                      const std::shared_ptr<const Vertices>& vertices) {
  TapeWriter& writer = graph.record().writer();
  recording::Values inputs(recording::Recorder(graph), columns);
  SharedInputs& shared = RecursionOp::shared_inputs(op, writer);
  const ValueId node =
      writer.add_recursion(shared, {inputs.all(), vertices, op->state_size, op->draws_of(*vertices),
                                    op->reads_parameter(*vertices, writer.tape(), shared)});
  return {graph.expression(node), op, vertices->size()};
}

TracedFunction& TracedFunction::of(const std::shared_ptr<TracedFunction>& function,
                                   const char* what, bool has_function) {
  if (function != nullptr && has_function) return *function;
  throw UsageError(
      "[" + (function == nullptr ? what : function->name_) + "] need a function; got " +
      (function == nullptr ? "an object that was made without, or moved from" : "an empty one"));
}

void TracedFunction::throw_without_graph() const {
  throw UsageError("[" + name_ +
                   "] need an argument that has a graph: a ComputationGraph, an Expression, or a "
                   "range that is not empty; got none");
}

}  // namespace dynet_like::detail
