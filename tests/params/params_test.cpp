// Parameters: names, initial values, access, gradients, and values that follow from them alone.
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;

TEST(ParameterCollection, NamesAsDyNetDoes) {
  ParameterCollection model;
  EXPECT_EQ(model.add_parameters({2}, "W").get_fullname(), "/W");
  EXPECT_EQ(model.add_parameters({2}, "W").get_fullname(), "/W_1");
  EXPECT_EQ(model.add_parameters({2}).get_fullname(), "/_0");
  EXPECT_EQ(model.add_lookup_parameters(3, {2}).get_fullname(), "/_1");
  ParameterCollection lstm = model.add_subcollection("lstm");
  EXPECT_EQ(lstm.get_fullname(), "/lstm/");
  EXPECT_EQ(lstm.add_parameters({2}).get_fullname(), "/lstm/_0");
  EXPECT_EQ(model.add_subcollection("lstm").get_fullname(), "/lstm_1/");
  EXPECT_EQ(lstm.size(), 1u);
  EXPECT_EQ(model.size(), 5u);
  EXPECT_EQ(model.parameter_count(), 2u + 2 + 2 + 6 + 2);
  EXPECT_NE(model.find("/lstm/_0"), nullptr);
  EXPECT_EQ(message_of<UsageError>([&] { model.find("lstm/_0"); }),
            "[ParameterCollection] need the full name of a parameter; got \"lstm/_0\", the nearest "
            "are \"/lstm/_0\", \"/_0\", \"/_1\"");
  EXPECT_THROW(model.add_parameters({2}, "a/b"), UsageError);
  EXPECT_THROW(model.add_parameters(Dim({2}, 3)), ShapeError);
  EXPECT_THROW(model.add_parameters({0}), ShapeError);
  model.add_parameters({1}, "X_1");
  model.add_parameters({1}, "X");
  EXPECT_THROW(model.add_parameters({1}, "X"), UsageError);
}

// Two parts of one name would each have the other's parameters.
TEST(ParameterCollection, PartsHaveNamesOfTheirOwn) {
  for (const bool number_first : {false, true}) {
    ParameterCollection model;
    model.add_subcollection("a").add_parameters({1}, "W");
    model.add_subcollection(number_first ? "a_1" : "a").add_parameters({2}, "W");
    EXPECT_EQ(model.add_subcollection(number_first ? "a" : "a_1").get_fullname(),
              number_first ? "/a_2/" : "/a_1_1/");
    EXPECT_EQ(model.add_subcollection("a").get_fullname(), number_first ? "/a_3/" : "/a_2/");
    EXPECT_EQ(model.add_subcollection("b").size(), 0u);
    EXPECT_EQ(model.add_subcollection("a_11").size(), 0u);
    model.add_parameters({1}, "X");
    EXPECT_EQ(model.size(), 3u);
  }
}

TEST(ParameterCollection, DrawsFromItsSeedAndThePosition) {
  ParameterCollection a(5), b(5), c(6);
  const Floats first = as_vector(a.add_parameters({50}).values());
  EXPECT_EQ(as_vector(b.add_parameters({50}).values()), first);
  EXPECT_NE(as_vector(c.add_parameters({50}).values()), first);
  EXPECT_NE(as_vector(a.add_parameters({50}).values()), first);
}

TEST(Initialisers, FollowTheirLaws) {
  ParameterCollection model;
  const auto moments = [](const Tensor& tensor) {
    double sum = 0, squares = 0, largest = 0;
    for (std::size_t i = 0; i < tensor.d.size(); ++i) {
      const double x = tensor.at(i);
      sum += x;
      squares += x * x;
      largest = std::max(largest, std::abs(x));
    }
    const double n = tensor.d.size();
    return std::array{sum / n, squares / n - sum / n * sum / n, largest};
  };
  const Dim dim({300, 100});
  const auto glorot = moments(model.add_parameters(dim).values());
  const double scale = std::sqrt(6.0 / 400);
  EXPECT_NEAR(glorot[0], 0, 0.002);
  EXPECT_NEAR(glorot[1], scale * scale / 3, 1e-4);
  EXPECT_LE(glorot[2], scale);
  const auto normal = moments(model.add_parameters(dim, ParameterInitNormal(2, 9)).values());
  EXPECT_NEAR(normal[0], 2, 0.1);
  EXPECT_NEAR(normal[1], 9, 0.3);
  const auto uniform = moments(model.add_parameters(dim, ParameterInitUniform(1, 3)).values());
  EXPECT_NEAR(uniform[0], 2, 0.02);
  EXPECT_NEAR(uniform[1], 1.0 / 3, 0.01);
  EXPECT_EQ(as_vector(model.add_parameters({2}, ParameterInitConst(4)).values()), (Floats{4, 4}));
  EXPECT_EQ(as_vector(model.add_parameters({2}, ParameterInitFromVector({1, 2})).values()),
            (Floats{1, 2}));
  EXPECT_THROW(model.add_parameters({3}, ParameterInitFromVector({1, 2})), ShapeError);
  // The rows of a table do not count.
  const auto table = moments(model.add_lookup_parameters(1000, {75}).all_values());
  EXPECT_NEAR(table[2], std::sqrt(3.0 / 75), 0.001);
}

TEST(Parameters, AreHandles) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 2}, ParameterInitConst(1));
  const Parameter copy = w;
  const std::uint64_t version = w.get_storage().values.version();
  copy.set_value({1, 2, 3, 4});
  EXPECT_GT(w.get_storage().values.version(), version);
  EXPECT_EQ(as_vector(w.values()), (Floats{1, 2, 3, 4}));
  w.values().set(0, 9);
  w.scale(2);
  EXPECT_EQ(as_vector(copy.values()), (Floats{18, 4, 6, 8}));
  w.clip_inplace(5, 7);
  EXPECT_EQ(as_vector(w.values()), (Floats{7, 5, 6, 7}));
  w.zero();
  EXPECT_EQ(as_vector(w.values()), (Floats{0, 0, 0, 0}));
  EXPECT_THROW(w.set_value({1}), ShapeError);
  EXPECT_THROW(Parameter().dim(), UsageError);

  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1));
  EXPECT_EQ(table.dim(), Dim({2}));
  EXPECT_EQ(table.rows(), 3u);
  table.initialize(1, {5, 6});
  EXPECT_EQ(as_vector(table.all_values()), (Floats{1, 1, 5, 6, 1, 1}));
  EXPECT_THROW(table.values(3), UsageError);
  EXPECT_THROW(table.initialize(0, {1, 2, 3}), ShapeError);
}

TEST(Gradients, HaveANorm) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2});
  const LookupParameter table = model.add_lookup_parameters(4, {2});
  Gradients a, b;
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(a.values(w), (Floats{0, 0}));
  EXPECT_EQ(a.find_dense(w.get_storage()), nullptr);
  add_to(a, w, {0, 3});
  add_to(b, w, {4, 0});
  add_to(a, table, 2, {1, 0});
  add_to(b, table, 2, {2, 0});
  add_to(b, table, 0, {0, 5});
  a.add(b);
  EXPECT_EQ(a.find_rows(table.get_storage())->rows, (std::vector<std::uint32_t>{2, 0}));
  EXPECT_DOUBLE_EQ(a.norm(model), std::sqrt(16.0 + 9 + 9 + 25));
  w.set_updated(false);
  EXPECT_DOUBLE_EQ(a.norm(model), std::sqrt(9.0 + 25));
  EXPECT_DOUBLE_EQ(a.norm(model, true), std::sqrt(16.0 + 9 + 9 + 25));
}

// Rows come in any order, in both; a clear in between leaves nothing behind.
TEST(Gradients, AddUpWhateverTheOrderOfRows) {
  Random random(4);
  for (int round = 0; round < 50; ++round) {
    ParameterCollection model(1, round % 2 == 0 ? DType::f32 : DType::f64);
    const unsigned rows = 1 + random.below(9), size = 1 + random.below(20);
    const Parameter w = model.add_parameters({size});
    const LookupParameter table = model.add_lookup_parameters(rows, {size});
    Gradients all[2];
    std::vector<Floats> sums(rows + 1, Floats(size, 0));  // the last one is of w
    const auto add = [&](Gradients& to) {
      const unsigned row = random.below(rows + 1);
      std::vector<double> values(size);
      for (unsigned i = 0; i < size; ++i) {
        values[i] = random.below(100);
        sums[row][i] += static_cast<float>(values[i]);
      }
      row < rows ? add_to(to, table, row, values) : add_to(to, w, values);
    };
    for (unsigned i = random.below(3 * rows); i > 0; --i) add(all[random.below(2)]);
    if (random.below(3) == 0) {
      for (Gradients& each : all) each.clear();
      sums.assign(rows + 1, Floats(size, 0));
      for (unsigned i = random.below(rows); i > 0; --i) add(all[random.below(2)]);
    }
    all[0].add(all[1]);
    for (unsigned row = 0; row < rows; ++row) {
      EXPECT_EQ(all[0].values(table, row), sums[row]) << "round " << round << ", row " << row;
    }
    EXPECT_EQ(all[0].values(w), sums[rows]) << "round " << round;
  }
}

TEST(Gradients, GrowWithTheirCollection) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3});
  Gradients gradients;
  add_to(gradients, w, {0, 0, 7});
  const Parameter later = model.add_parameters({100});
  std::vector<double> last(100, 0);
  last[99] = 8;
  add_to(gradients, later, last);
  EXPECT_EQ(gradients.values(w), (Floats{0, 0, 7}));
  EXPECT_EQ(gradients.values(later)[99], 8);
}

// A minibatch may see many models, one after the other.
TEST(Gradients, GiveBackTheMemoryOfCollectionsThatAreGone) {
  Gradients gradients;
  std::weak_ptr<CollectionLayout> layout;
  {
    ParameterCollection model;
    const Parameter w = model.add_parameters({3});
    layout = w.get_storage().layout;
    add_to(gradients, w, {0, 0, 7});
    gradients.clear();
    EXPECT_FALSE(gradients.empty());
  }
  gradients.clear();
  EXPECT_TRUE(layout.expired());
  EXPECT_TRUE(gradients.empty());
}

// Passes whose time grew with the square of these numbers would take minutes.
constexpr unsigned kMany = 200'000;

TEST(ParameterFunctions, MayBeLongChains) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2});
  w.set_value({1.0f, 2.0f});
  ComputationGraph graph;
  Expression x = parameter(graph, w);
  for (unsigned i = 0; i < kMany; ++i) x = -x;
  const Expression loss = sum_elems(x);
  EXPECT_EQ(loss.value().at(0), 3.0);
  EXPECT_EQ(graph.backward(loss).values(w), (std::vector<float>{1.0f, 1.0f}));
}

TEST(ParameterFunctions, MayBeOfManyParameters) {
  ParameterCollection model;
  std::vector<Parameter> weights;
  std::vector<Expression> terms;
  ComputationGraph graph;
  for (unsigned i = 0; i < kMany / 4; ++i) {
    weights.push_back(model.add_parameters({1}));
    weights.back().set_value({static_cast<float>(i % 8)});
    terms.push_back(square(parameter(graph, weights.back())));
  }
  const Expression loss = sum(terms);
  const Gradients& gradients = graph.backward(loss);
  for (unsigned i : {0u, 1u, 5u, kMany / 4 - 1}) {
    EXPECT_EQ(gradients.values(weights[i])[0], 2.0f * (i % 8));
  }
}

// The contributions of all consumers reach a value before it passes its gradient on.
TEST(ParameterFunctions, SumOverConsumersInRecordingOrder) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1});
  w.set_value({3.0f});
  ComputationGraph graph;
  const Expression a = square(parameter(graph, w)), b = a * 2.0f, c = cmult(a, b);
  const Expression loss = sum_elems(a + b + c);  // w^2 + 2 w^2 + 2 w^4
  EXPECT_EQ(loss.value().at(0), 9.0 + 18.0 + 162.0);
  EXPECT_EQ(graph.backward(loss).values(w)[0], 6.0f + 12.0f + 216.0f);
}

}  // namespace
}  // namespace dynet_like
