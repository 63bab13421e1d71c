// Labels and names with control characters and broken UTF-8: no report passes them on.
#include <nlohmann/json.hpp>

#include "dynet_like/core/text.h"
#include "dynet_like/graph/formula_op.h"
#include "dynet_like/graph/graphviz.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/train/parameter_groups.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

const std::string kEvil = "\x1B]0;evil\x07\xFF\xC2\x9B";

// Lines of text; reports have tabs in no place.
void expect_visible(const std::string& text) {
  EXPECT_TRUE(detail::is_utf8(text)) << detail::visible_text(text);
  std::string line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    EXPECT_EQ(detail::visible_text(line), line);
  }
}

std::string text_of(const auto& object) {
  std::ostringstream text;
  text << object;
  return text.str();
}

class ForeignTextTest : public ::testing::Test {
 protected:
  ForeignTextTest() {
    options_.timeline = &timeline_;
    options_.measure_time = true;
  }

  // Samples whose labelled nodes do not batch, with parameters, cells, recursions and an op.
  void record(Minibatch& batch) {
    for (unsigned sample = 0; sample < 12; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      const unsigned n = 2 + sample % 5;
      const Expression x = input(graph, {n}, std::vector<float>(n, 0.5f));
      x.label(kEvil);
      const Expression y = mish_(tanh(x).label(kEvil)).label(kEvil + "2");
      const Expression w = lookup(graph, table_, sample % 3);
      const Expression states = along_(Structure::sequence(2), concatenate_cols({w, w})).all();
      batch.add_loss(sum_elems(y).label(kEvil) + sum_elems(states) + sum_elems(step_(w)) +
                     sum_elems(parameter(graph, w_)));
    }
  }

  Timeline timeline_;
  GraphOptions options_;
  ParameterCollection model_;
  Parameter w_ = model_.add_parameters({2}, kEvil);
  LookupParameter table_ = model_.add_lookup_parameters(3, {2}, kEvil + "table");
  FormulaOp mish_{kEvil, [](ops::Term x) { return x * tanh(x); }};
  Recursion<Expression> along_ = recursion<Expression>(
      [](const Expression& x, const std::vector<Expression>&) { return tanh(x); }, kEvil);
  CellFunction<Expression(const Expression&)> step_ =
      cell([](const Expression& x) { return tanh(x); }, kEvil);
};

TEST_F(ForeignTextTest, ReportsShowIt) {
  Minibatch batch(options_);
  for (int pass = 0; pass < 3; ++pass) {
    if (pass > 0) batch.clear();
    record(batch);
    batch.forward();
    batch.backward();
  }
  const Report report = batch.explain();
  ASSERT_FALSE(report.missed_merges.empty());
  const std::string table = text_of(report);
  EXPECT_TRUE(mentions(table, "\\x1B]0;evil\\x07\\xFF\\xC2\\x9B"));
  expect_visible(table);
  expect_visible(report.html());
  expect_visible(report.json());
  EXPECT_TRUE(nlohmann::json::accept(report.json()));
  expect_visible(batch.draw_batches());
  timeline_.time(kEvil, [] {});
  expect_visible(timeline_.json());
  EXPECT_TRUE(nlohmann::json::accept(timeline_.json()));
}

TEST_F(ForeignTextTest, ExpressionsAndPicturesOfGraphsShowIt) {
  ComputationGraph graph;
  const Expression x = mish_(input(graph, {1}, {1})).label(kEvil);
  expect_visible(text_of(x));
  std::ostringstream picture;
  write_graphviz(picture, graph);
  expect_visible(picture.str());
}

TEST_F(ForeignTextTest, ErrorsShowIt) {
  ComputationGraph graph;
  const Expression x = input(graph, {1}, {1}).label(kEvil);
  expect_visible(message_of<ShapeError>([&] { return x + parameter(graph, w_); }));
  expect_visible(message_of<UsageError>([&] { lookup(graph, table_, 9); }));
  expect_visible(message_of<FileError>([] { SafetensorsFile::read("/nowhere/" + kEvil); }));
  SimpleSGDTrainer trainer(model_);
  expect_visible(message_of<UsageError>([&] { trainer.set_groups({{kEvil + "other", 1.0f}}); }));
}

}  // namespace
}  // namespace dynet_like
