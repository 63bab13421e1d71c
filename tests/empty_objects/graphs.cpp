// Graphs, expressions, recursions, shapes, and what runs them.
#include "dynet_like/graph/formula_op.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

std::string text_of(const auto& object) {
  std::ostringstream text;
  text << object;
  return text.str();
}

void use_expression(const Expression& e) {
  ATTEMPT(e.dim(), e.value(), e.gradient(), e.label("name"), e.is_stale(), e.empty(),
          e.get_device_name(), e.graph("test"), text_of(e), e.pg->size(), tanh(e), e + e, e * e,
          concatenate({e, e}), values_of({e}), reshape(e, {1}));
}

void use_graph(ComputationGraph& graph) {
  ATTEMPT(graph.backward(Expression()), graph.revert(), graph.checkpoint(), graph.revert(),
          graph.invalidate(), graph.forget_values(0, 0), text_of(graph.explain()),
          graph.record().dim_of(0), Expression(&graph, 0));
  EXPECT_EQ(graph.size(), 0u);
  ATTEMPT(graph.clear());
}

void use_minibatch(Minibatch& batch) {
  const Expression none;
  Gradients gradients;
  EXPECT_EQ(batch.size(), 0u);
  ATTEMPT(batch.graph(0), batch.add_loss(none), batch.add_losses(std::span<const Expression>()),
          batch.add_output(none), batch.loss(), batch.loss_of(0, 1), batch.backward(),
          batch.check_finite_loss(), batch.compute({none}), batch.compute({}),
          batch.draw_batches());
  EXPECT_EQ(batch.forward(), 0.0f);
  ATTEMPT(batch.backward(gradients), batch.check_finite_loss(), text_of(batch.explain()),
          batch.draw_batches(), batch.parts(), batch.clear());
}

void use_dim(Dim& dim) {
  std::ostringstream text;
  ATTEMPT(dim.size(), dim.sum_dims(), dim.rows() + dim.cols() + dim[6], dim.num_nonone_dims(),
          dim.truncate(), dim.single_batch(), dim.transpose(), dim.check(), to_string(dim),
          dim.delete_dim(0), dim.delete_dims({0, 1}, true), dim.set(0, 2), dim.insert_dim(0, 2),
          dim.add_dim(2), dim.resize(3), dim.print_profile(text));
}

void use_tensor(const Tensor& tensor) {
  Random random;
  const std::vector<unsigned> first = {0};
  ATTEMPT(tensor.dtype(), tensor.is_valid(), tensor.batch_elem(0), tensor.batch_elems(),
          tensor.at(0), tensor.set(0, 1), as_scalar(tensor), as_vector(tensor), as_doubles(tensor),
          text_of(tensor), argmax(tensor), argmax(tensor, first), argmax_of_columns(tensor),
          top_k_of_columns(tensor, 1), draw_from_softmax(tensor, random),
          draw_from_softmax(tensor, first, random));
}

void use_recursions(Types& types) {
  ComputationGraph graph;
  const Expression columns = input(graph, {2, 3}, std::vector<float>(6, 1));
  const auto along = recursion<Expression>(
      [](const Expression& x, const std::vector<Expression>&) { return tanh(x); });
  const auto use_structure = [&](const Structure& structure) {
    ATTEMPT(structure.size(), along(structure, columns).all().value(),
            along(structure, graph).all().value());
  };
  const Structure sequence = Structure::sequence(3);
  types.use(sequence, use_structure);
  types.use(Structure(std::span<const Structure::Vertex>()), use_structure);
  types.use(along, [&](const Recursion<Expression>& any) {
    ATTEMPT(any(sequence, columns).all().value(),
            any(sequence, std::vector<Expression>(1, columns)),
            any(sequence, std::vector<Expression>()), any(sequence, columns, Expression()),
            any(sequence, Expression()), any(sequence, graph));
  });
  types.use(along(sequence, columns), [](const States<Expression>& states) {
    ATTEMPT(states.size(), states.all().value(), states[0].value(), states.last().value());
  });
  const auto use_cell = [&](const CellFunction<Expression(const Expression&)>& function) {
    ATTEMPT(function(columns).value(), function(Expression()).value());
  };
  types.use(cell([](const Expression& x) { return tanh(x); }), use_cell);
  types.use(CellFunction<Expression(const Expression&)>(nullptr), use_cell);
}

}  // namespace

void use_graphs(Types& types) {
  types.stay<FormulaOp, Device, Reading>();
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1, 2});
  types.use(tanh(x), use_expression);
  types.use(GraphPointer(&graph), [](const GraphPointer& pointer) {
    ATTEMPT(pointer->size(), (*pointer).size());
    EXPECT_EQ(pointer == nullptr, static_cast<ComputationGraph*>(pointer) == nullptr);
  });
  types.use_where_it_is<ComputationGraph>(use_graph);
  types.use_where_it_is<Minibatch>(use_minibatch);
  types.use(graph.explain(), [](const Report& report) {
    std::ostringstream text;
    ATTEMPT(text_of(report), report.json(), report.html(), print_waves(text, report));
  });
  use_recursions(types);

  types.use(Dim({2, 3}), use_dim);
  float number = 1;
  types.use(Tensor(Dim({1}), &number), use_tensor);
  std::vector<std::uint32_t> two = {1, 2};
  types.use(ListOf<std::uint32_t>(two), [](const ListOf<std::uint32_t>& list) {
    EXPECT_EQ(std::vector(list.begin(), list.end()).size(), list.size());
  });
  types.use(IntegersAt(&two), [&](const IntegersAt& integers) {
    ATTEMPT(integers.given(), integers.now(), integers.size(), select_rows(x, integers),
            pick(x, integers));
  });
  types.use(Random(1), [](Random& random) {
    random();
    EXPECT_LT(random.below(3), 3u);
  });
  types.use_where_it_is<Timeline>([](Timeline& timeline) {
    EXPECT_EQ(timeline.size() + timeline.dropped(), 0u);
    timeline.json();
    timeline.stop();
  });

  const auto what = [](const std::exception& error) { EXPECT_NE(error.what(), nullptr); };
  types.use(DeviceError("a"), what);
  types.use(NumericError("a"), what);
  types.use(RankError("a"), what);
  types.use(ShapeError("a"), what);
  types.use(StateError("a"), what);
  types.use(UsageError("a"), what);
  types.use(FileError("file", "what", 1, 2), [&](const FileError& error) {
    what(error);
    EXPECT_EQ(error.line(), 1u);
    EXPECT_LE(error.file().size(), 4u);
  });
}

}  // namespace dynet_like
