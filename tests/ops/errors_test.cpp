// What ops promise and refuse, generated from the op table: messages, declarations, public
// functions.
#include <type_traits>

#include "tests/ops/cases.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bytes.h"

namespace dynet_like::op_cases {
namespace {

// "[name] need ...", with every shape in it.
void expect_message(const std::string& message, const Op& op, std::span<const Dim> shapes) {
  EXPECT_EQ(message.rfind("[" + std::string(op.name) + "] need ", 0), 0u) << message;
  const std::size_t got = message.find("; got");
  ASSERT_NE(got, std::string::npos) << message;
  std::size_t at = got;
  if (shapes.size() > 8) {  // a long list is shortened: here, all are the same
    EXPECT_TRUE(message.ends_with(" (" + std::to_string(shapes.size()) + " times)")) << message;
    shapes = shapes.first(1);
  }
  for (const Dim& dim : shapes) {  // in their order
    at = message.find(to_string(dim), at);
    ASSERT_NE(at, std::string::npos) << message << " lacks " << dim;
    ++at;
  }
}

// A graph that records calls of one op, all inputs of a minibatch size of their own.
class Recorder {
 public:
  explicit Recorder(const OpCall& call) : call_(call) {}

  Expression add(std::span<const Dim> dims) {
    Random random(3);
    return add(dims, draw_items(call_, 1, random));
  }
  // `numbers`: the items whose numbers are given.
  Expression add(std::span<const Dim> dims, std::span<const Item> numbers) {
    Random random(7);
    std::vector<Expression> inputs;
    for (const Dim& dim : dims) {
      const auto values = draw_numbers(call_.shapes, dim, random, Digits::of_float);
      inputs.push_back(input(graph_, dim, converted<float>(values)));
    }
    return record(graph_, call_, inputs, numbers);
  }
  ComputationGraph& graph() { return graph_; }

 private:
  static GraphOptions options() {
    GraphOptions options;
    options.seed = 5;
    return options;
  }

  const OpCall& call_;
  ComputationGraph graph_{options()};
};

std::vector<Dim> with_minibatches(std::vector<Dim> dims, std::span<const unsigned> sizes) {
  for (std::size_t j = 0; j < dims.size(); ++j) dims[j].bd = sizes[j % sizes.size()];
  return dims;
}

TEST(OpErrorsTest, BadCasesAreRefusedWithEveryShape) {
  std::size_t count = 0;
  Random random(3);
  for (const Op* op : all_ops()) {
    for (const OpCase& shapes : bad_cases(*op)) {
      const OpCall call{op, shapes, std::string(op->name)};
      SCOPED_TRACE(::testing::PrintToString(call));
      Recorder recorder(call);
      Item numbers{
          {}, std::vector<std::uint32_t>(op->integers(shapes.attributes), 0), shapes.reals};
      if (is_open(call)) numbers.integers = draw_item(call, random, Digits::few).integers;
      const std::vector<Item> items(1, numbers);
      const auto act = [&] { recorder.add(shapes.inputs, items); };
      const std::string message = message_of<ShapeError>(act);
      expect_message(message, *op, shapes.inputs);
      EXPECT_EQ(message_of<ShapeError>(act), message) << "the second time";
      ++count;
    }
  }
  EXPECT_GT(count, 20u);
}

// Ops of equal rules may share their bad cases, but no op with a rule is without.
TEST(OpErrorsTest, OpsWithSeveralInputsOrAttributesHaveBadCases) {
  for (const Op* op : all_ops()) {
    if (!has_cases(*op)) continue;
    const auto has_attributes = [](const OpCase& shapes) { return !shapes.attributes.empty(); };
    if (op->max_inputs < 2 && std::ranges::none_of(good_cases(*op), has_attributes)) continue;
    EXPECT_FALSE(bad_cases(*op).empty()) << op->name << " needs cases that its shape rule refuses";
  }
}

class OpCallErrorsTest : public ::testing::TestWithParam<OpCall> {
 protected:
  const OpCall& call() const { return GetParam(); }
  const Op& op() const { return *GetParam().op; }
  const std::vector<Dim>& dims() const { return GetParam().shapes.inputs; }
  std::vector<Item> items(std::size_t n) const {
    Random random(3);
    return draw_items(call(), n, random);
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpCallErrorsTest, ::testing::ValuesIn(calls_with_inputs()),
                         name_of_call);

TEST_P(OpCallErrorsTest, NumberOfInputs) {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{op().min_inputs} - 1, std::size_t{op().max_inputs} + 1}) {
    if (count > 100) continue;
    Recorder recorder(call());
    const std::vector<Dim> inputs(count, dims()[0]);
    if (count == 0) {
      EXPECT_EQ(message_of<ShapeError>([&] { apply_op(op(), {}); }),
                "[" + std::string(op().name) + "] need at least one input; got none");
      continue;
    }
    const std::string message = message_of<ShapeError>([&] { recorder.add(inputs); });
    expect_message(message, op(), inputs);
    EXPECT_TRUE(mentions(message, std::to_string(count)));
  }
}

// What was refused leaves nothing behind: the graph goes on.
TEST_P(OpCallErrorsTest, GraphGoesOnAfterAnError) {
  Recorder recorder(call()), untouched(call());
  const std::vector<Dim> too_many(dims().size() + 33, Dim({2, 1, 3}));
  std::vector<Dim> wrong = too_many;
  wrong.back() = Dim({4, 5});
  EXPECT_THROW(recorder.add(wrong), ShapeError);
  const Expression after = recorder.add(dims()), alone = untouched.add(dims());
  EXPECT_EQ(after.dim(), alone.dim());
  EXPECT_EQ(as_vector(after.value()), as_vector(alone.value()));
}

class OpIntegerErrorsTest : public OpCallErrorsTest {};

INSTANTIATE_TEST_SUITE_P(All, OpIntegerErrorsTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return call.op->numbers.integer_limit != nullptr;
                         })),
                         name_of_call);

TEST_P(OpIntegerErrorsTest, IntegersBeyondTheLimit) {
  const std::uint32_t limit = op().numbers.integer_limit(signature_of(call(), DType::f32));
  for (const std::uint32_t integer : {limit, limit + 1, ~std::uint32_t{0}}) {
    for (const std::size_t n : {1, 3}) {
      std::vector<Item> numbers = items(n);
      numbers.back().integers[0] = integer;
      const std::string message =
          message_of<UsageError>([&] { Recorder(call()).add(dims(), numbers); });
      EXPECT_EQ(message, "[" + std::string(op().name) + "] need an integer below " +
                             std::to_string(limit) + "; got " + std::to_string(integer) +
                             (integer > limit + 1 ? ", which is -1 without its sign" : ""));
    }
  }
  std::vector<Item> largest = items(1);
  largest[0].integers[0] = limit - 1;
  EXPECT_NO_THROW(Recorder(call()).add(dims(), largest).value());
}

class OpNumberErrorsTest : public OpCallErrorsTest {
 protected:
  std::string numbers_per_item() const {
    const unsigned integers = op().numbers.random ? 0 : op().integers(call().shapes.attributes);
    return std::to_string(integers > 0 ? integers : op().numbers.reals);
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpNumberErrorsTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return call.inputs() > 0 && !is_open(call) &&
                                  ((call.op->integers(call.shapes.attributes) > 0 &&
                                    !call.op->numbers.random) ||
                                   call.op->numbers.reals > 0);
                         })),
                         name_of_call);

TEST_P(OpNumberErrorsTest, NumberOfNumbers) {
  std::vector<unsigned> sizes(dims().size(), 3);
  for (unsigned j = 0; j < sizes.size(); ++j) {
    if (must_share(call(), j)) sizes[j] = 1;
  }
  const std::vector<Dim> three = with_minibatches(dims(), sizes);
  const std::string none =
      message_of<UsageError>([&] { Recorder(call()).add(three, std::span<const Item>()); });
  EXPECT_EQ(none.rfind("[" + std::string(op().name) + "] need " + numbers_per_item() + ' ', 0), 0u)
      << none;
  EXPECT_TRUE(mentions(none, "; got 0"));
  EXPECT_EQ(Recorder(call()).add(three, items(1)).dim().bd, sizes[0]);
  EXPECT_EQ(Recorder(call()).add(three, items(3)).dim().bd, 3u);
  if (sizes[0] == 1) return;
  EXPECT_THROW(Recorder(call()).add(three, items(2)), UsageError);
  const std::string four = message_of<ShapeError>([&] { Recorder(call()).add(three, items(4)); });
  expect_message(four, op(), three);
}

class OpMinibatchErrorsTest : public OpCallErrorsTest {};

INSTANTIATE_TEST_SUITE_P(All, OpMinibatchErrorsTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return !is_open(call) && call.inputs() > 0 &&
                                  (must_share(call, 0) || call.inputs() > 1);
                         })),
                         name_of_call);

TEST_P(OpMinibatchErrorsTest, MinibatchesOfDifferentSizes) {
  if (must_share(call(), 0)) {
    const std::vector<Dim> two = with_minibatches(dims(), std::array{2u});
    const std::string message = message_of<ShapeError>([&] { Recorder(call()).add(two); });
    return expect_message(message, op(), two);
  }
  const std::vector<Dim> different = with_minibatches(dims(), std::array{2u, 3u});
  const std::string message = message_of<ShapeError>([&] { Recorder(call()).add(different); });
  expect_message(message, op(), different);
  const std::vector<Dim> one = with_minibatches(dims(), std::array{1u, 3u});
  EXPECT_EQ(Recorder(call()).add(one).dim().bd, 3u);
}

class OpElementTypeErrorsTest : public OpCallErrorsTest {};

INSTANTIATE_TEST_SUITE_P(All, OpElementTypeErrorsTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return call.inputs() > 1;
                         })),
                         name_of_call);

TEST_P(OpElementTypeErrorsTest, MixedElementTypes) {
  ParameterCollection doubles(1, DType::f64);
  for (std::size_t j = 0; j < dims().size(); ++j) {
    ComputationGraph graph;
    std::vector<Expression> inputs;
    for (const Dim& dim : dims()) {
      inputs.push_back(inputs.size() == j
                           ? parameter(graph, doubles.add_parameters(dim))
                           : input(graph, dim, std::vector<float>(dim.size(), 0.5f)));
    }
    const std::string message =
        message_of<UsageError>([&] { record(graph, call(), inputs, items(1)); });
    EXPECT_EQ(message, "[" + std::string(op().name) + "] need inputs of one element type; got " +
                           (j == 0 ? "double and float" : "float and double"));
  }
}

// ---------------------------------------------------------------- what a backward kernel may do

template <class E>
bool same_bytes(const std::vector<std::vector<E>>& a, const std::vector<std::vector<E>>& b) {
  return std::ranges::equal(a, b, [](const std::vector<E>& x, const std::vector<E>& y) {
    return dynet_like::same_bytes(x, y);
  });
}

class OpKernelTest : public OpCallErrorsTest {
 protected:
  static constexpr std::size_t kItems = 5;

  // body(kernel, dy, E()) for every instruction set, both types, shared inputs or not.
  template <class Body>
  void for_each_kernel(Body&& body) {
    for (const KernelSet& set : kernel_sets()) {
      for (const bool share : {false, true}) {
        SCOPED_TRACE(set.target + (share ? ", shared" : ", own"));
        run<float>(set, share, body);
        run<double>(set, share, body);
        if (HasFatalFailure()) return;
      }
    }
  }

 private:
  template <class E, class Body>
  void run(const KernelSet& set, bool share, Body&& body) {
    KernelCall<E> kernel(call(), set, items(kItems), share);
    kernel.forward();
    Random random(9);
    body(kernel, converted<E>(draw_weights(kItems * kernel.type().output_size, random)), E());
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpKernelTest, ::testing::ValuesIn(calls_with_inputs()), name_of_call);

// Whether gradients change when the inputs, or the output, are NaN.
template <class E>
std::pair<bool, bool> reads(KernelCall<E>& kernel, const std::vector<E>& dy) {
  const auto expected = kernel.backward(dy);
  BackwardChoice inputs, output;
  inputs.poison_inputs = true;
  output.poison_output = true;
  return {!same_bytes(kernel.backward(dy, inputs), expected),
          !same_bytes(kernel.backward(dy, output), expected)};
}

TEST_P(OpKernelTest, ReadsOnlyWhatItNeeds) {
  for_each_kernel([&](auto& kernel, const auto& dy, auto) {
    const auto [inputs, output] = reads(kernel, dy);
    EXPECT_TRUE(!inputs || op().needs_inputs());
    EXPECT_TRUE(!output || op().needs_output());
  });
}

// What is declared but never read would be kept for nothing.
TEST(OpNeedsTest, EveryNeedIsReadInSomeCase) {
  std::map<const Op*, std::pair<bool, bool>> read;
  for (const OpCall& call : calls_with_inputs()) {
    Random random(9);
    const std::vector<Item> items = draw_items(call, 5, random);
    KernelCall<double> kernel(call, kernel_sets()[0], items, false);
    kernel.forward();
    const auto [inputs, output] = reads(kernel, draw_weights(kernel.out().size(), random));
    read[call.op].first |= inputs;
    read[call.op].second |= output;
  }
  for (const auto& [op, what] : read) {
    EXPECT_EQ(what.first, op->needs_inputs()) << op->name;
    if (op == &ops::attention) continue;  // a GPU's kernel reads the output
    EXPECT_EQ(what.second, op->needs_output()) << op->name;
  }
}

TEST_P(OpKernelTest, AddsTheWholeResultOnce) {
  for_each_kernel([&]<class E>(KernelCall<E>& kernel, const std::vector<E>& dy, E) {
    auto expected = kernel.backward(dy);
    const BackwardChoice choice = {.want = [](auto, auto) { return Want::added; }, .prior = 0.7};
    for (auto& gradient : expected) {
      for (E& x : gradient) x = static_cast<E>(0.7) + x;
    }
    ASSERT_TRUE(same_bytes(kernel.backward(dy, choice), expected));
  });
}

TEST_P(OpKernelTest, WritesOnlyWhatIsWanted) {
  for_each_kernel([&]<class E>(KernelCall<E>& kernel, const std::vector<E>& dy, E) {
    const auto all = kernel.backward(dy);
    const auto is_wanted = [](std::size_t item) { return item % 2 == 0 && item < 4; };
    // All inputs but one, and all; no kernel is called for none.
    for (std::size_t unwanted = dims().size() > 1 ? 0 : 1; unwanted <= dims().size(); ++unwanted) {
      const auto want = [&](std::size_t item, std::size_t input) {
        return input == unwanted ? Want::nothing_of_input
               : is_wanted(item) ? Want::written
                                 : Want::nothing;
      };
      auto expected = all;
      for (std::size_t j = 0; j < expected.size(); ++j) {
        if (j == unwanted) expected[j].clear();
        for (std::size_t e = 0; e < expected[j].size(); ++e) {
          if (!is_wanted(e / dims()[j].size())) expected[j][e] = -3;
        }
      }
      ASSERT_TRUE(same_bytes(kernel.backward(dy, {.want = want, .prior = -3}), expected))
          << unwanted;
    }
  });
}

// Kernels have room for sixteen products.
TEST(OpErrorsTest, CellsHaveAtMostSixteenProducts) {
  ComputationGraph graph;
  const Expression bias = zeros(graph, {12}), cell = zeros(graph, {3});
  std::vector<Expression> products;
  for (int i = 0; i < 16; ++i) {
    products.push_back(zeros(graph, {12, 2}));
    products.push_back(zeros(graph, {2}));
  }
  EXPECT_EQ(lstm_cell(bias, products, std::span(&cell, 1)).h.value().at(0), 0.0);
  products.push_back(zeros(graph, {12, 2}));
  products.push_back(zeros(graph, {2}));
  EXPECT_THROW(lstm_cell(bias, products, std::span(&cell, 1)).h.value(), ShapeError);
}

// A label is no label of another sample.
TEST(OpErrorsTest, AListOfOneIsNotForSeveral) {
  ComputationGraph graph;
  const Expression matrix = ones(graph, {3, 2}), x = reshape(matrix, Dim({3}, 2));
  const std::vector<unsigned> one = {1}, two = {1, 2};
  EXPECT_EQ(message_of<UsageError>([&] { cross_entropy(x, one); }),
            "[cross_entropy] need an integer for each of 2 minibatch elements; got a list of "
            "1: give the integer itself if it is for all");
  EXPECT_THROW(cross_entropy(x, &one), UsageError);
  EXPECT_THROW(cross_entropy(x, one), UsageError);
  EXPECT_THROW(hinge(x, one), UsageError);
  EXPECT_THROW(hinge(x, &one), UsageError);
  EXPECT_THROW(pick(x, one), UsageError);
  EXPECT_THROW(pick(x, &one), UsageError);
  EXPECT_EQ(cross_entropy(x, 1).dim(), Dim({1}, 2));
  EXPECT_EQ(cross_entropy(x, two).dim(), Dim({1}, 2));
  EXPECT_EQ(cross_entropy(x, &one[0]).dim(), Dim({1}, 2));
  EXPECT_EQ(pick(ones(graph, {3}), one).dim(), Dim({1}));
  EXPECT_EQ(message_of<ShapeError>([&] { pick(matrix, 0, 1) * pick(matrix, 1, 1); }),
            "[matrix_product] need a matrix on the left (element by element it is cmult); got {3} "
            "{3}");
  EXPECT_EQ(cross_entropy(matrix, two).dim(), Dim({1}, 2));
  EXPECT_EQ(message_of<ShapeError>([&] { cross_entropy(matrix, one); }),
            "[cross_entropy] need a class for each of 2 columns, not 1; got {3,2}");
}

}  // namespace
}  // namespace dynet_like::op_cases
