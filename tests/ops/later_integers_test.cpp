// Integers behind pointers: read when the graph runs, not when it is recorded.
#include <gtest/gtest.h>

#include <functional>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<unsigned>;
using Lists = std::vector<Integers>;

// What functions are given, and the integers that are written after recording.
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
  unsigned one = 0;
  Integers two = {0, 0}, three = {0, 0, 0}, six = {0, 0, 0, 0, 0, 0};
  Lists lists = {{0, 0, 0}, {0, 0, 0}};

  void write() {
    one = 1;
    two = {2, 1};
    three = {1, 0, 1};
    six = {1, 0, 1, 0, 1, 1};
    lists = {{1, 0, 1}, {0, 1, 1}};
  }
};

/// A function with integers behind a pointer, and with those that will be there.
struct Form {
  const char* name;
  std::function<Expression(Givens&)> later, now;
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"lookup", [](Givens& g) { return lookup(g.graph, g.table, &g.one); },
       [](Givens& g) { return lookup(g.graph, g.table, 1); }},
      {"lookup_of_several", [](Givens& g) { return lookup(g.graph, g.table, &g.two); },
       [](Givens& g) {
         return lookup(g.graph, g.table, Integers{2, 1});
       }},
      {"const_lookup", [](Givens& g) { return const_lookup(g.graph, g.table, &g.one); },
       [](Givens& g) { return const_lookup(g.graph, g.table, 1); }},
      {"const_lookup_of_several", [](Givens& g) { return const_lookup(g.graph, g.table, &g.two); },
       [](Givens& g) {
         return const_lookup(g.graph, g.table, Integers{2, 1});
       }},
      {"pick", [](Givens& g) { return pick(g.matrix, &g.one); },
       [](Givens& g) { return pick(g.matrix, 1); }},
      {"pick_column", [](Givens& g) { return pick(g.matrix, &g.one, 1); },
       [](Givens& g) { return pick(g.matrix, 1, 1); }},
      {"pick_of_several", [](Givens& g) { return pick(g.vectors, &g.two); },
       [](Givens& g) {
         return pick(g.vectors, Integers{2, 1});
       }},
      {"pick_batch_elem", [](Givens& g) { return pick_batch_elem(g.vectors, &g.one); },
       [](Givens& g) { return pick_batch_elem(g.vectors, 1); }},
      {"pick_batch_elems", [](Givens& g) { return pick_batch_elems(g.vectors, &g.three); },
       [](Givens& g) {
         return pick_batch_elems(g.vectors, Integers{1, 0, 1});
       }},
      {"select_rows", [](Givens& g) { return select_rows(g.matrix, &g.two); },
       [](Givens& g) {
         return select_rows(g.matrix, Integers{2, 1});
       }},
      {"select_cols", [](Givens& g) { return select_cols(g.matrix, &g.three); },
       [](Givens& g) {
         return select_cols(g.matrix, Integers{1, 0, 1});
       }},
      {"cross_entropy", [](Givens& g) { return cross_entropy(g.vector, &g.one); },
       [](Givens& g) { return cross_entropy(g.vector, 1); }},
      {"pickneglogsoftmax_of_several", [](Givens& g) { return cross_entropy(g.vectors, &g.two); },
       [](Givens& g) {
         return cross_entropy(g.vectors, Integers{2, 1});
       }},
      {"hinge", [](Givens& g) { return hinge(g.vector, &g.one); },
       [](Givens& g) { return hinge(g.vector, 1); }},
      {"hinge_of_several", [](Givens& g) { return hinge(g.vectors, &g.two, 2); },
       [](Givens& g) {
         return hinge(g.vectors, Integers{2, 1}, 2);
       }},
      {"hinge_dim", [](Givens& g) { return hinge_dim(g.matrix, &g.two); },
       [](Givens& g) {
         return hinge_dim(g.matrix, Integers{2, 1});
       }},
      {"hinge_dim_of_one_line", [](Givens& g) { return hinge_dim(g.vector, &g.one, 0, 2); },
       [](Givens& g) { return hinge_dim(g.vector, Integers{1}, 0, 2); }},
      {"hinge_dim_of_a_minibatch", [](Givens& g) { return hinge_dim(g.matrices, &g.six); },
       [](Givens& g) {
         return hinge_dim(g.matrices, Integers{1, 0, 1, 0, 1, 1});
       }},
      {"hinge_dim_of_lists", [](Givens& g) { return hinge_dim(g.matrices, &g.lists); },
       [](Givens& g) {
         return hinge_dim(g.matrices, Lists{{1, 0, 1}, {0, 1, 1}});
       }},
      {"sparsemax_loss_of_one", [](Givens& g) { return sparsemax_loss(g.vector, &g.one); },
       [](Givens& g) { return sparsemax_loss(g.vector, Integers{1}); }},
      {"sparsemax_loss", [](Givens& g) { return sparsemax_loss(g.vector, &g.two); },
       [](Givens& g) {
         return sparsemax_loss(g.vector, Integers{2, 1});
       }},
      {"poisson_loss", [](Givens& g) { return poisson_loss(g.number, &g.one); },
       [](Givens& g) { return poisson_loss(g.number, 1); }},
      {"poisson_loss_of_several", [](Givens& g) { return poisson_loss(g.numbers, &g.two); },
       [](Givens& g) {
         return concatenate_to_batch({poisson_loss(pick_batch_elem(g.numbers, 0), 2),
                                      poisson_loss(pick_batch_elem(g.numbers, 1), 1)});
       }},
  };
  return all;
}

class LaterIntegersFormTest : public ::testing::TestWithParam<Form> {};

INSTANTIATE_TEST_SUITE_P(All, LaterIntegersFormTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(LaterIntegersFormTest, AreThoseOfTheRun) {
  Givens first, givens;
  const Expression zeros = GetParam().later(first), later = GetParam().later(givens);
  EXPECT_EQ(later.dim(), GetParam().now(givens).dim());
  givens.write();
  const Floats expected = as_vector(GetParam().now(givens).value());
  EXPECT_EQ(as_vector(later.value()), expected);
  const Floats of_zeros = as_vector(zeros.value());
  EXPECT_NE(of_zeros, expected);
  first.write();
  EXPECT_EQ(as_vector(zeros.value()), of_zeros) << "what has run stays";
  first.graph.invalidate();
  EXPECT_EQ(as_vector(zeros.value()), expected);
}

TEST_P(LaterIntegersFormTest, HaveTheSameGradients) {
  const auto gradients = [&](bool later) {
    Givens givens;
    const Expression result = later ? GetParam().later(givens) : GetParam().now(givens);
    givens.write();
    const Expression loss = sum_batches(sum_elems(square(result)));
    const Gradients& of_parameters = givens.graph.backward(loss, true);
    Floats all;
    for (const Expression& x : {givens.matrix, givens.vector, givens.vectors, givens.matrices,
                                givens.number, givens.numbers}) {
      const Floats each = as_vector(x.gradient());
      all.insert(all.end(), each.begin(), each.end());
    }
    const Gradients::Rows* rows = of_parameters.find_rows(givens.table.get_storage());
    for (unsigned row = 0; row < 4; ++row) {
      const std::byte* found =
          rows == nullptr ? nullptr : rows->find(givens.table.get_storage(), row);
      float values[2] = {};
      Device& device = givens.table.get_storage().device();
      if (found != nullptr) device.read(values, found, sizeof(values));
      all.insert(all.end(), {values[0], values[1]});
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

class LaterIntegersTest : public ::testing::Test, protected Givens {};

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
