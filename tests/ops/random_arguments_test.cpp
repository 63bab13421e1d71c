// What distributions refuse, what they draw at the ends of their parameters, and for whom.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RandomArgumentsTest : public ::testing::Test {
 protected:
  static GraphOptions options() {
    GraphOptions options;
    options.seed = 3;
    return options;
  }
  std::vector<float> values(const Expression& x) { return as_vector(x.value()); }
  template <class F>
  void expect_refused(const F& f, const std::string& need) {
    const std::string message = message_of<UsageError>([&] { f(); });
    EXPECT_TRUE(mentions(message, need));
    EXPECT_TRUE(mentions(message, "; got "));
  }

  /// The same function of a graph, always with the first numbers of one seed.
  template <class F>
  std::vector<float> from_the_start(const F& f) {
    ComputationGraph graph(options());
    return values(f(graph));
  }

  ComputationGraph graph_{options()};
  const Dim dim_{Dim({50})};
};

TEST_F(RandomArgumentsTest, AreChecked) {
  for (const float p : {-0.1f, 1.5f, 2.0f, kInf, kNan}) {
    expect_refused([&] { random_bernoulli(graph_, dim_, p); },
                   "[random_bernoulli] need a probability of 0 to 1");
  }
  for (const float negative : {-1.0f, -1e-30f, -kInf, kInf, kNan}) {
    expect_refused([&] { random_normal(graph_, dim_, 0, negative); },
                   "[random_normal] need a standard deviation of at least 0");
    expect_refused([&] { noise(zeros(graph_, dim_), negative); },
                   "[noise] need a standard deviation of at least 0");
    expect_refused([&] { random_gumbel(graph_, dim_, 0, negative); },
                   "[random_gumbel] need a scale of at least 0");
  }
  expect_refused([&] { random_uniform(graph_, dim_, 1, 0); }, "[random_uniform] need a left end");
  expect_refused([&] { random_uniform(graph_, dim_, 0, kInf); }, "finite");
  expect_refused([&] { random_uniform(graph_, dim_, kNan, 1); }, "[random_uniform] need");
  expect_refused([&] { random_normal(graph_, dim_, kNan, 1); }, "finite");
  expect_refused([&] { random_bernoulli(graph_, dim_, 0.5f, kInf); }, "finite");
  const Expression x = zeros(graph_, dim_);
  for (const float p : {-0.1f, 1.0f, 2.0f, kNan}) {
    for (const auto& drop :
         {+[](const Expression&y, float rate) { return dropout(y, rate); },
          +[](const Expression&y, float rate) { return dropout_dim(y, 0, rate); },
          +[](const Expression&y, float rate) { return dropout_batch(y, rate); },
          +[](const Expression&y, float rate) { return block_dropout(y, rate); }}) {
      expect_refused([&] { drop(x, p); }, "need a probability of at least 0 and below 1");
    }
  }
}

TEST_F(RandomArgumentsTest, WithoutAnyChance) {
  const std::vector<float> threes(50, 3.0f), zero(50, 0.0f);
  EXPECT_EQ(values(random_uniform(graph_, dim_, 3, 3)), threes);
  EXPECT_EQ(values(random_normal(graph_, dim_, 3, 0)), threes);
  EXPECT_EQ(values(random_gumbel(graph_, dim_, 3, 0)), threes);
  EXPECT_EQ(values(random_bernoulli(graph_, dim_, 1, 3)), threes);
  EXPECT_EQ(values(random_bernoulli(graph_, dim_, 0, 3)), zero);
  EXPECT_EQ(values(noise(input(graph_, dim_, threes), 0)), threes);
}

TEST_F(RandomArgumentsTest, InferenceLeavesAllAsItIs) {
  ComputationGraph graph({.inference = true});
  const Expression x = ones(graph, dim_);
  for (const Expression& y : {dropout(x, 0.5f), dropout_dim(x, 0, 0.5f), dropout_batch(x, 0.5f),
                              block_dropout(x, 0.5f), noise(x, 1)}) {
    EXPECT_EQ(y.i, x.i);
  }
  EXPECT_EQ(graph.size(), 1u);
  EXPECT_THROW(dropout(x, 1), UsageError);
}

// Minibatch elements and columns go on with the numbers of those before: together they have those
// of one long vector, of which no two parts are alike.
TEST_F(RandomArgumentsTest, ElementsShareNoNumbers) {
  using Draw = Expression (*)(const Expression& x);
  const Draw draws[] = {
      +[](const Expression& x) { return random_uniform(x.graph("test"), x.dim(), -1, 1); },
      +[](const Expression& x) { return random_normal(x.graph("test"), x.dim(), 0, 1); },
      +[](const Expression& x) { return random_gumbel(x.graph("test"), x.dim()); },
      +[](const Expression& x) { return random_bernoulli(x.graph("test"), x.dim(), 0.4f); },
      +[](const Expression& x) { return noise(x, 1); },
      +[](const Expression& x) { return dropout(x, 0.4f); }};
  for (const Dim& dim : {Dim({1}, 40), Dim({5}, 3), Dim({8}, 7), Dim({33}, 4), Dim({3, 9}),
                         Dim({6, 5}, 4), Dim({16, 1}, 2), Dim({2, 3, 4}, 5)}) {
    for (std::size_t i = 0; i < std::size(draws); ++i) {
      const auto drawn = [&](const Dim& of) {
        return from_the_start([&](ComputationGraph& graph) { return draws[i](ones(graph, of)); });
      };
      EXPECT_EQ(drawn(dim), drawn(Dim({dim.size()}))) << to_string(dim) << ", distribution " << i;
    }
  }
}

// One decision for all that shares it, in the order of the decisions.
TEST_F(RandomArgumentsTest, MasksAreDrawnForWhatTheyCover) {
  const auto masks = [&](const Dim& dim, auto&& drop) {
    return from_the_start([&](ComputationGraph& graph) { return drop(ones(graph, dim)); });
  };
  const auto bits = [&](unsigned count) {
    return from_the_start(
        [&](ComputationGraph& graph) { return random_bernoulli(graph, Dim({count}), 0.5f, 2); });
  };
  constexpr unsigned kRows = 3, kColumns = 5, kElements = 4;
  const Dim dim({kRows, kColumns}, kElements);
  const std::vector<float> by_element =
      masks(dim, [](const Expression& x) { return dropout_batch(x, 0.5f); });
  const std::vector<float> by_column =
      masks(dim, [](const Expression& x) { return dropout_dim(x, 0, 0.5f); });
  const std::vector<float> by_row =
      masks(dim, [](const Expression& x) { return dropout_dim(x, 1, 0.5f); });
  const std::vector<float> whole =
      masks(dim, [](const Expression& x) { return block_dropout(x, 0.5f); });
  const std::vector<float> drawn = bits(kColumns * kElements);
  for (unsigned i = 0; i < dim.size(); ++i) {
    const unsigned row = i % kRows, column = i / kRows, element = column / kColumns;
    EXPECT_EQ(by_element[i], drawn[element]) << i;
    EXPECT_EQ(by_column[i], drawn[column]) << i;
    EXPECT_EQ(by_row[i], drawn[element * kRows + row]) << i;
    EXPECT_EQ(whole[i], drawn[0]) << i;
  }
}

}  // namespace
}  // namespace dynet_like
