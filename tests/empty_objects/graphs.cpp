// Graphs, expressions, recursions, shapes, and what runs them.
#include <sstream>

#include "dynet_like/dynet_like.h"
#include "dynet_like/graph/formula_op.h"
#include "dynet_like/train/gradient_check.h"
#include "tests/empty_objects/types.h"

namespace dynet_like {

namespace {

std::string text_of(const auto& object) {
  std::ostringstream text;
  text << object;
  return text.str();
}

void use_expression(const Expression& e) {
  ATTEMPT(e.dim());
  ATTEMPT(e.value());
  ATTEMPT(e.gradient());
  ATTEMPT(e.label("name"));
  ATTEMPT(e.is_stale());
  ATTEMPT(e.empty());
  ATTEMPT(e.get_device_name());
  ATTEMPT(e.graph("test"));
  ATTEMPT(text_of(e));
  ATTEMPT(e.pg->size());
  ATTEMPT(tanh(e));
  ATTEMPT(e + e);
  ATTEMPT(e * e);
  ATTEMPT(concatenate({e, e}));
  ATTEMPT(values_of({e}));
  ATTEMPT(reshape(e, {1}));
}

void use_graph(ComputationGraph& graph) {
  const Expression none;
  ATTEMPT(graph.backward(none));
  ATTEMPT(graph.revert());
  ATTEMPT(graph.checkpoint());
  ATTEMPT(graph.revert());
  ATTEMPT(graph.invalidate());
  ATTEMPT(graph.forget_values(0, 0));
  ATTEMPT(text_of(graph.explain()));
  ATTEMPT(graph.record().dim_of(0));
  ATTEMPT(Expression(&graph, 0));
  EXPECT_EQ(graph.size(), 0u);
  ATTEMPT(graph.clear());
}

void use_minibatch(Minibatch& batch) {
  const Expression none;
  Gradients gradients;
  EXPECT_EQ(batch.size(), 0u);
  ATTEMPT(batch.graph(0));
  ATTEMPT(batch.add_loss(none));
  ATTEMPT(batch.add_losses(std::span<const Expression>()));
  ATTEMPT(batch.add_output(none));
  ATTEMPT(batch.loss());
  ATTEMPT(batch.loss_of(0, 1));
  ATTEMPT(batch.backward());
  ATTEMPT(batch.check_finite_loss());
  ATTEMPT(batch.compute({none}));
  ATTEMPT(batch.compute({}));
  ATTEMPT(batch.draw_batches());
  EXPECT_EQ(batch.forward(), 0.0f);
  ATTEMPT(batch.backward(gradients));
  ATTEMPT(batch.check_finite_loss());
  ATTEMPT(text_of(batch.explain()));
  ATTEMPT(batch.draw_batches());
  ATTEMPT(batch.parts());
  ATTEMPT(batch.clear());
}

void use_dim(Dim& dim) {
  ATTEMPT(dim.size());
  ATTEMPT(dim.sum_dims());
  ATTEMPT(dim.rows() + dim.cols() + dim[6]);
  ATTEMPT(dim.num_nonone_dims());
  ATTEMPT(dim.truncate());
  ATTEMPT(dim.single_batch());
  ATTEMPT(dim.transpose());
  ATTEMPT(dim.check());
  ATTEMPT(to_string(dim));
  ATTEMPT(dim.delete_dim(0));
  ATTEMPT(dim.delete_dims({0, 1}, true));
  ATTEMPT(dim.set(0, 2));
  ATTEMPT(dim.insert_dim(0, 2));
  ATTEMPT(dim.add_dim(2));
  ATTEMPT(dim.resize(3));
  std::ostringstream text;
  ATTEMPT(dim.print_profile(text));
}

void use_tensor(const Tensor& tensor) {
  Random random;
  ATTEMPT(tensor.dtype());
  ATTEMPT(tensor.is_valid());
  ATTEMPT(tensor.batch_elem(0));
  ATTEMPT(tensor.batch_elems());
  ATTEMPT(tensor.at(0));
  ATTEMPT(tensor.set(0, 1));
  ATTEMPT(as_scalar(tensor));
  ATTEMPT(as_vector(tensor));
  ATTEMPT(as_doubles(tensor));
  ATTEMPT(text_of(tensor));
  ATTEMPT(argmax(tensor));
  ATTEMPT(argmax(tensor, std::vector<unsigned>{0}));
  ATTEMPT(argmax_of_columns(tensor));
  ATTEMPT(top_k_of_columns(tensor, 1));
  ATTEMPT(draw_from_softmax(tensor, random));
  ATTEMPT(draw_from_softmax(tensor, std::vector<unsigned>{0}, random));
}

void use_structure(const Structure& structure) {
  const auto f = [](const Expression& x, const std::vector<Expression>&) { return tanh(x); };
  const auto along = recursion<Expression>(f);
  ComputationGraph graph;
  const Expression columns = input(graph, {2, 3}, std::vector<float>(6, 1));
  ATTEMPT(structure.size());
  ATTEMPT(along(structure, columns).all().value());
  ATTEMPT(along(structure, graph).all().value());
}

void use_recursions(Types& types) {
  ComputationGraph graph;
  const Expression columns = input(graph, {2, 3}, std::vector<float>(6, 1));
  const auto f = [](const Expression& x, const std::vector<Expression>&) { return tanh(x); };
  types.use("Structure", Structure::sequence(3), use_structure);
  types.use("Structure", Structure(std::span<const Structure::Vertex>()), use_structure);
  types.use("Recursion", recursion<Expression>(f), [&](const Recursion<Expression>& along) {
    const Structure sequence = Structure::sequence(3);
    ATTEMPT(along(sequence, columns).all().value());
    ATTEMPT(along(sequence, std::vector<Expression>{columns}));
    ATTEMPT(along(sequence, std::vector<Expression>()));
    ATTEMPT(along(sequence, columns, Expression()));
    ATTEMPT(along(sequence, Expression()));
    ATTEMPT(along(sequence, graph));
  });
  types.use("States", recursion<Expression>(f)(Structure::sequence(3), columns),
            [](const States<Expression>& states) {
              ATTEMPT(states.size());
              ATTEMPT(states.all().value());
              ATTEMPT(states[0].value());
              ATTEMPT(states.last().value());
            });
  const auto use_cell = [&](const CellFunction<Expression(const Expression&)>& function) {
    ATTEMPT(function(columns).value());
    ATTEMPT(function(Expression()).value());
  };
  types.use("CellFunction", cell([](const Expression& x) { return tanh(x); }), use_cell);
  types.use("CellFunction", CellFunction<Expression(const Expression&)>(nullptr), use_cell);
}

}  // namespace

void use_graphs(Types& types) {
  types.stay<FormulaOp, Device, Reading>();
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1, 2});
  types.use("Expression", tanh(x), use_expression);
  types.use("GraphPointer", GraphPointer(&graph), [](const GraphPointer& pointer) {
    ATTEMPT(pointer->size());
    ATTEMPT((*pointer).size());
    EXPECT_EQ(pointer == nullptr, static_cast<ComputationGraph*>(pointer) == nullptr);
  });
  types.use_where_it_is<ComputationGraph>("ComputationGraph", use_graph);
  types.use_where_it_is<Minibatch>("Minibatch", use_minibatch);
  types.use("Report", graph.explain(), [](const Report& report) {
    ATTEMPT(text_of(report));
    ATTEMPT(report.json());
    ATTEMPT(report.html());
    std::ostringstream text;
    ATTEMPT(print_waves(text, report));
  });
  use_recursions(types);

  types.use("Dim", Dim({2, 3}), use_dim);
  float number = 1;
  types.use("Tensor", Tensor(Dim({1}), &number), use_tensor);
  std::vector<std::uint32_t> two = {1, 2};
  types.use("ListOf", ListOf<std::uint32_t>(two), [](const ListOf<std::uint32_t>& list) {
    EXPECT_EQ(std::vector(list.begin(), list.end()).size(), list.size());
  });
  types.use("IntegersAt", IntegersAt(&two), [&](const IntegersAt& integers) {
    ATTEMPT(integers.given());
    ATTEMPT(integers.now());
    ATTEMPT(integers.size());
    ATTEMPT(select_rows(x, integers));
    ATTEMPT(pick(x, integers));
  });
  types.use("Random", Random(1), [](Random& random) {
    random();
    EXPECT_LT(random.below(3), 3u);
  });
  types.use_where_it_is<Timeline>("Timeline", [](Timeline& timeline) {
    EXPECT_EQ(timeline.size() + timeline.dropped(), 0u);
    timeline.json();
    timeline.stop();
  });

  const auto what = [](const std::exception& error) { EXPECT_NE(error.what(), nullptr); };
  types.use("DeviceError", DeviceError("a"), what);
  types.use("NumericError", NumericError("a"), what);
  types.use("ShapeError", ShapeError("a"), what);
  types.use("StateError", StateError("a"), what);
  types.use("UsageError", UsageError("a"), what);
  types.use("FileError", FileError("file", "what", 1, 2), [&](const FileError& error) {
    what(error);
    EXPECT_EQ(error.line(), 1u);
    EXPECT_LE(error.file().size(), 4u);
  });
}

}  // namespace dynet_like
