// Labels of expressions in error messages.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class LabelsTest : public ::testing::Test {
 protected:
  Expression vector(unsigned n) { return zeros(graph_, Dim({n})); }
  template <class F>
  static std::string message(const F& f) {
    return message_of<ShapeError>([&] { f(); });
  }
  ComputationGraph graph_{{.detect_anomaly = true}};
};

TEST_F(LabelsTest, ShapeErrorsNameTheInputsThatHaveOne) {
  const Expression weights = zeros(graph_, Dim({3, 4})).label("attention");
  const Expression x = vector(5), h = tanh(x).label("h");
  const std::string product =
      "[matrix_product] need as many columns on the left as rows on the right; got {3,4} {5}";
  EXPECT_EQ(message([&] { weights* x; }), product + ", where \"attention\" is {3,4}");
  EXPECT_EQ(message([&] { weights* h; }), product + ", where \"attention\" is {3,4}, \"h\" is {5}");
  EXPECT_EQ(message([&] { zeros(graph_, Dim({3, 4})) * x; }), product);
  EXPECT_EQ(message([&] { weights* h; }), message([&] { weights* h; })) << "the second time";
}

TEST_F(LabelsTest, InEveryKindOfShapeError) {
  const Expression x = zeros(graph_, Dim({6})).label("x");
  const Expression y = zeros(graph_, Dim({6}, 2)).label("y"), z = zeros(graph_, Dim({6}, 3));
  const std::string of_x = ", where \"x\" is {6}", of_y = ", where \"y\" is {6X2}";
  for (const std::string& each :
       {message([&] { reshape(x, Dim({7})); }), message([&] {
          transpose(x, {0, 0});
        }),
        message([&] {
          concatenate_to_batch({x, vector(2)});
        }),
        message([&] {
          logsumexp({vector(2), x});
        }),
        message([&] {
          conv2d(x, vector(2), {1, 1});
        }),
        message([&] { filter1d_narrow(x, vector(2)); }),
        message([&] { contract3d_1d(x, vector(2)); }), message([&] { max_dim(x, 3); }),
        message_of<UsageError>([&] { pick_range(x, 4, 8); }),
        message([&] { graph_.backward(x); })}) {
    EXPECT_TRUE(each.ends_with(of_x)) << each;
  }
  EXPECT_TRUE(message([&] { y + z; }).ends_with(of_y));
  EXPECT_TRUE(message([&] { pick_batch_elem(y, 2); }).ends_with(of_y));
  Minibatch batch;
  const Expression loss = zeros(batch.new_graph(), Dim({2})).label("x");
  EXPECT_TRUE(message([&] { batch.add_loss(loss); }).ends_with(", where \"x\" is {2}"));
}

// Parameters are known by their names, and rows of tables by those of the tables.
TEST_F(LabelsTest, ParametersAndTablesAreNamed) {
  ParameterCollection model;
  const nn::Linear linear(model, 3, 2, {.name = "output"});
  const nn::Embedding words(model, 10, 4, {.name = "words"});
  const Expression word = words(graph_, 7);
  EXPECT_EQ(message([&] { linear(word); }),
            "[Linear] need inputs of size 3 for \"/output/W\"; got {4}, where \"/words/E\" is {4}");
  const auto product = [&] { parameter(graph_, linear.weights()) * word; };
  EXPECT_TRUE(message(product).ends_with("where \"/output/W\" is {2,3}, \"/words/E\" is {4}"))
      << message(product);
  expect_refused<UsageError>(
      "[lookup] need an integer below 10; got 12, where \"/words/E\" is {4,10}",
      [&] { words(graph_, 12); });
  EXPECT_TRUE(
      message([&] { word.label("word") + vector(3); }).ends_with(", where \"word\" is {4}"));
}

TEST_F(LabelsTest, IntegersThatAreTooLarge) {
  const Expression x = vector(6).label("scores");
  expect_refused<UsageError>(
      "[cross_entropy] need an integer below 6; got 6, where \"scores\" is {6}",
      [&] { cross_entropy(x, 6); });
  const unsigned later = 9;
  const Expression loss = cross_entropy(x, &later);
  EXPECT_TRUE(message_of<UsageError>([&] { loss.value(); }).ends_with("\"scores\" is {6}"));
}

// What an op is given beside its inputs is refused with the names of these.
TEST_F(LabelsTest, NumbersThatAnOpRefuses) {
  const Expression x = zeros(graph_, Dim({4, 3}, 2)).label("scores");
  const Expression image = zeros(graph_, Dim({4, 4, 1})).label("scores");
  const Expression column = vector(6).label("scores");
  const std::vector<std::function<void()>> refused = {
      [&] { clip(x, 1, 0); },
      [&] { dropout(x, 1); },
      [&] { dropout_dim(x, 2, 0.5f); },
      [&] { moment_elems(x, 0); },
      [&] { strided_select(x, {0}, {0}, {4}); },
      [&] {
        strided_select(x, {1, 1, 1}, {0, 0, 0}, {4, 3, 5});
      },
      [&] { pick_batch_elems(x, std::vector<unsigned>{2}); },
      [&] { pick(x, 4u); },
      [&] { pick_range(x, 2, 2); },
      [&] { fold_rows(x, 3); },
      [&] { cross_entropy(column, 1u, 2.0f); },
      [&] { log_softmax(column, std::vector<unsigned>{}); },
      [&] { log_softmax(column, std::vector<unsigned>{6}); },
      [&] {
        sum_dim(x, {1, 1});
      },
      [&] { kmh_ngram(x, 4); },
      [&] {
        segment_sum(x, {1, 1});
      },
      [&] {
        maxpooling2d(image, {5, 1}, {1, 1});
      },
      [&] {
        maxpooling2d(image, {1}, {1, 1});
      },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const std::string text = message_of<UsageError>(refused[i]);
    EXPECT_TRUE(mentions(text, ", where \"scores\" is {")) << i << ": " << text;
  }
}

// A view has the label of what it is a part of.
TEST_F(LabelsTest, OfViews) {
  const Expression whole = vector(6).label("whole"), part = pick_range(whole, 0, 2);
  EXPECT_TRUE(message([&] {
                part + whole;
              }).ends_with("got {2} {6}, where \"whole\" is {2}, \"whole\" is {6}"));
}

TEST_F(LabelsTest, MessagesStayShort) {
  std::vector<Expression> xs;
  for (int i = 0; i < 100; ++i) xs.push_back(vector(2).label(std::string(1000, 'a')));
  xs.push_back(vector(3));
  const std::string text = message([&] { concatenate(xs, 1); });
  EXPECT_LT(text.size(), 1000u) << text;
  EXPECT_TRUE(text.ends_with(", ...")) << text;
}

TEST_F(LabelsTest, NumericErrorsNameTheNode) {
  const Expression x = log(vector(1)).label("root of all evil");
  const std::string text = message_of<NumericError>([&] { x.value(); });
  EXPECT_TRUE(mentions(text, "(\"root of all evil\")"));
  ParameterCollection model;
  const Parameter huge = model.add_parameters({2}, ParameterInitConst(1e30f), "huge");
  const Expression y = square(cmult(parameter(graph_, huge), input(graph_, Dim({2}), {1e20f, 1})));
  const std::string product = message_of<NumericError>([&] { y.value(); });
  EXPECT_TRUE(product.ends_with("of cmult, node 4 of sample 0, of \"/huge\"")) << product;
}

}  // namespace
}  // namespace dynet_like
