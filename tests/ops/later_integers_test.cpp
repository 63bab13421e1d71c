// Integers behind pointers: read when the graph runs, not when it is recorded.
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<unsigned>;
using Lists = std::vector<Integers>;

// Integers that functions are given: zeros while they record, then what is written.
struct Written {
  unsigned one = 0;
  Integers two = {0, 0}, three = {0, 0, 0}, six = {0, 0, 0, 0, 0, 0};
  Lists lists = {{0, 0, 0}, {0, 0, 0}};
};
const Written kWritten = {1, {2, 1}, {1, 0, 1}, {1, 0, 1, 0, 1, 1}, {{1, 0, 1}, {0, 1, 1}}};

// What else functions are given.
struct Givens {
  Givens() {
    for (unsigned row = 0; row < 4; ++row) {
      table.initialize(row, {static_cast<float>(row), static_cast<float>(10 * row)});
    }
  }

  ParameterCollection model;
  LookupParameter table = model.add_lookup_parameters(4, {2});
  ComputationGraph graph;
  Expression matrix = input(graph, Dim({3, 2}), Floats{1, 2, 4, 6, 5, 4});
  Expression vector = input(graph, Dim({3}), Floats{0.5f, -1, 0.25f});
  Expression vectors = input(graph, Dim({3}, 2), Floats{1, 2, 4, 6, 5, 4});
  Expression matrices = input(graph, Dim({2, 3}, 2), Floats{1, 2, 4, 6, 5, 4, 3, 0, 2, 4, 4, 1});
  Expression number = input(graph, 0.5f), numbers = input(graph, Dim({1}, 2), Floats{0.5f, -2});
  Written written;
};

/// A function with integers behind a pointer, and with those that will be there.
struct Form {
  std::string name;
  std::function<Expression(Givens&)> later, now;
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

/// call(givens, integers), for integers of a kind and for a pointer to them.
template <class T, class Call>
Form form(const char* name, T Written::*integers, const Call& call) {
  return {name, [=](Givens& g) { return call(g, &(g.written.*integers)); },
          [=](Givens& g) { return call(g, kWritten.*integers); }};
}

std::vector<Form> forms() {
  using G = Givens&;
  const auto one = &Written::one;
  const auto two = &Written::two, three = &Written::three, six = &Written::six;
  return {
      form("lookup", one, [](G g, auto i) { return lookup(g.graph, g.table, i); }),
      form("lookup_of_several", two, [](G g, auto i) { return lookup(g.graph, g.table, i); }),
      form("const_lookup", one, [](G g, auto i) { return const_lookup(g.graph, g.table, i); }),
      form("const_lookup_of_several", two,
           [](G g, auto i) { return const_lookup(g.graph, g.table, i); }),
      form("pick", one, [](G g, auto i) { return pick(g.matrix, i); }),
      form("pick_column", one, [](G g, auto i) { return pick(g.matrix, i, 1); }),
      form("pick_of_several", two, [](G g, auto i) { return pick(g.vectors, i); }),
      form("pick_batch_elem", one, [](G g, auto i) { return pick_batch_elem(g.vectors, i); }),
      form("pick_batch_elems", three, [](G g, auto i) { return pick_batch_elems(g.vectors, i); }),
      form("select_rows", two, [](G g, auto i) { return select_rows(g.matrix, i); }),
      form("select_cols", three, [](G g, auto i) { return select_cols(g.matrix, i); }),
      form("cross_entropy", one, [](G g, auto i) { return cross_entropy(g.vector, i); }),
      form("cross_entropy_of_several", two,
           [](G g, auto i) { return cross_entropy(g.vectors, i); }),
      form("hinge", one, [](G g, auto i) { return hinge(g.vector, i); }),
      form("hinge_of_several", two, [](G g, auto i) { return hinge(g.vectors, i, 2); }),
      form("hinge_dim", two, [](G g, auto i) { return hinge_dim(g.matrix, i); }),
      {"hinge_dim_of_one_line", [](G g) { return hinge_dim(g.vector, &g.written.one, 0, 2); },
       [](G g) { return hinge_dim(g.vector, Integers{kWritten.one}, 0, 2); }},
      form("hinge_dim_of_a_minibatch", six, [](G g, auto i) { return hinge_dim(g.matrices, i); }),
      form("hinge_dim_of_lists", &Written::lists,
           [](G g, auto i) { return hinge_dim(g.matrices, i); }),
      {"sparsemax_loss_of_one", [](G g) { return sparsemax_loss(g.vector, &g.written.one); },
       [](G g) { return sparsemax_loss(g.vector, Integers{kWritten.one}); }},
      form("sparsemax_loss", two, [](G g, auto i) { return sparsemax_loss(g.vector, i); }),
      form("poisson_loss", one, [](G g, auto i) { return poisson_loss(g.number, i); }),
      {"poisson_loss_of_several", [](G g) { return poisson_loss(g.numbers, &g.written.two); },
       [](G g) {
         return concatenate_to_batch({poisson_loss(pick_batch_elem(g.numbers, 0), 2),
                                      poisson_loss(pick_batch_elem(g.numbers, 1), 1)});
       }},
  };
}

class LaterIntegersFormTest : public ::testing::TestWithParam<Form> {};

INSTANTIATE_TEST_SUITE_P(All, LaterIntegersFormTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST_P(LaterIntegersFormTest, AreThoseOfTheRun) {
  Givens first, givens;
  const Expression zeros = GetParam().later(first), later = GetParam().later(givens);
  EXPECT_EQ(later.dim(), GetParam().now(givens).dim());
  givens.written = kWritten;
  const Floats expected = as_vector(GetParam().now(givens).value());
  EXPECT_EQ(as_vector(later.value()), expected);
  const Floats of_zeros = as_vector(zeros.value());
  EXPECT_NE(of_zeros, expected);
  first.written = kWritten;
  EXPECT_EQ(as_vector(zeros.value()), of_zeros) << "what has run stays";
  first.graph.invalidate();
  EXPECT_EQ(as_vector(zeros.value()), expected);
}

TEST_P(LaterIntegersFormTest, HaveTheSameGradients) {
  const auto gradients = [&](bool later) {
    Givens g;
    const Expression result = later ? GetParam().later(g) : GetParam().now(g);
    g.written = kWritten;
    const Expression loss = sum_batches(sum_elems(square(result)));
    Floats all = g.graph.backward(loss, true).all_values(*g.model.storages()[0]);
    for (const Expression& x : {g.matrix, g.vector, g.vectors, g.matrices, g.number, g.numbers}) {
      const Floats each = as_vector(x.gradient());
      all.insert(all.end(), each.begin(), each.end());
    }
    return all;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

// Numbers behind pointers are read then, too.
TEST(LaterInputsTest, AreThoseOfTheRun) {
  ComputationGraph graph;
  float number = 1;
  Floats values = {1, 2, 3};
  const Expression one = input(graph, &number), several = input(graph, Dim({3}), &values);
  number = 4;
  values = {5, 6, 7};
  EXPECT_EQ(as_vector(one.value()), Floats{4});
  EXPECT_EQ(as_vector(several.value()), (Floats{5, 6, 7}));
  values.push_back(8);
  graph.invalidate();
  EXPECT_THROW(several.value(), ShapeError);
}

class LaterIntegersTest : public ::testing::Test, protected Givens {
 protected:
  Lists& lists = written.lists;
};

TEST_F(LaterIntegersTest, AZeroIsNoPointer) {
  EXPECT_EQ(as_vector(select_rows(matrix, {0}).value()), (Floats{1, 6}));
  EXPECT_EQ(as_vector(pick(matrix, 0).value()), (Floats{1, 6}));
  EXPECT_EQ(as_vector(lookup(graph, table, 0).value()), (Floats{0, 0}));
  const Expression columns = reshape(matrix, Dim({3}, 2));
  EXPECT_EQ(as_vector(pick_batch_elems(columns, {0}).value()), (Floats{1, 2, 4}));
}

// Backward and what is asked for later see the integers of the run; a new run reads them again.
TEST_F(LaterIntegersTest, StayUntilTheGraphRunsAnew) {
  unsigned row = 1;
  const Expression e = lookup(graph, table, &row);
  const Expression loss = sum_elems(e);
  EXPECT_EQ(as_scalar(loss.value()), 11);
  row = 2;
  EXPECT_EQ(as_vector(e.value()), (Floats{1, 10}));
  const Gradients& gradients = graph.backward(loss);
  EXPECT_NE(gradients.find_rows(table.get_storage())->find(table.get_storage(), 1), nullptr);
  EXPECT_EQ(gradients.find_rows(table.get_storage())->find(table.get_storage(), 2), nullptr);
  graph.invalidate();
  EXPECT_EQ(as_scalar(loss.value()), 22);
}

TEST_F(LaterIntegersTest, ListsHaveOneLength) {
  const Expression loss = hinge_dim(matrices, &lists);
  lists = {{1, 0, 1, 0}, {1, 0}};
  EXPECT_THROW(loss.value(), UsageError);
  lists = {{1, 0, 1}};
  EXPECT_EQ(as_vector(loss.value()), as_vector(hinge_dim(matrices, {1, 0, 1}).value()));
  EXPECT_THROW(hinge_dim(matrices, Lists{{1, 0}, {1, 0, 1, 0}}), UsageError);
}

// A parameter's element that is picked later is not computed once for all samples.
// Such matrices are taken column by column where the integers are there at once.
TEST(LaterIntegersOfMatrices, AreThoseOfTheirElements) {
  for (const unsigned elements : {1u, 2u}) {
    for (const Integers& chosen : {Integers{3}, Integers{7, 0}}) {
      const auto numbers_of = [&](bool later, bool picks) {
        ComputationGraph graph;
        Floats numbers(std::size_t{12} * 5 * elements);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
        const Expression x = input(graph, Dim({12, 5}, elements), numbers);
        Integers places(chosen.size(), 0);
        const Expression y = picks ? (later ? pick(x, &places) : pick(x, chosen))
                                   : (later ? gather(x, &places) : gather(x, chosen));
        places = chosen;
        Floats result = as_vector(y.value());
        graph.backward(sum_batches(sum_elems(square(y))), true);
        const Floats slopes = as_vector(x.gradient());
        result.insert(result.end(), slopes.begin(), slopes.end());
        return result;
      };
      // Pick takes none for all: see OpErrorsTest.
      const bool has_its_own = chosen.size() == elements || elements == 1;
      if (has_its_own) {
        EXPECT_EQ(numbers_of(true, true), numbers_of(false, true));
      }
      EXPECT_EQ(numbers_of(true, false), numbers_of(false, false));
    }
  }
}

TEST(LaterIntegersInMinibatches, EverySampleHasItsOwn) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({3}, ParameterInitFromVector({1, 2, 4}));
  Minibatch batch;
  unsigned places[3] = {0, 0, 0};
  for (unsigned& place : places) {
    batch.add_loss(pick(parameter(batch.new_graph(), p), &place));
  }
  places[1] = 1;
  places[2] = 2;
  EXPECT_EQ(batch.forward(), 7);
  EXPECT_EQ(batch.backward().values(p), (Floats{1, 1, 1}));
}

TEST_F(LaterIntegersTest, WhatIsOutOfRangeIsRefusedThen) {
  unsigned row = 0;
  Integers rows = {0, 1};
  const Expression e = lookup(graph, table, &row);
  const Expression several = lookup(graph, table, &rows);
  row = 4;
  EXPECT_THROW(e.value(), UsageError);
  rows = {0, 1, 2};
  EXPECT_THROW(several.value(), UsageError);
  row = 3;
  rows = {3, 3};
  EXPECT_EQ(as_vector(e.value()), (Floats{3, 30}));
  EXPECT_EQ(as_vector(several.value()), (Floats{3, 30, 3, 30}));
}

}  // namespace
}  // namespace dynet_like
