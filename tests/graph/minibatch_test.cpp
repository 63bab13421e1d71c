// Minibatch: graphs that run together, in parts, for inference, and under the checking modes.
#include <set>

#include "dynet_like/device/kernel.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class MinibatchTest : public ::testing::Test {
 protected:
  // A chain of a length of its own per sample.
  Expression loss_of(ComputationGraph& graph, unsigned sample) {
    Expression x = lookup(graph, table, sample % 10);
    for (unsigned i = 0; i < 2 + sample % 4; ++i) {
      x = tanh(affine_transform({parameter(graph, bias), parameter(graph, w), x}));
    }
    return cross_entropy(x, sample % 8);
  }
  void record(Minibatch& batch, unsigned samples) {
    for (unsigned i = 0; i < samples; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
  }

  ParameterCollection model;
  Parameter w = model.add_parameters({8, 8}), bias = model.add_parameters({8});
  LookupParameter table = model.add_lookup_parameters(10, {8});
};

TEST_F(MinibatchTest, BatchesAcrossGraphs) {
  Minibatch batch;
  record(batch, 16);
  batch.forward();
  batch.backward();
  const Report report = batch.explain();
  EXPECT_EQ(report.nodes, 16u * 2 + 2 * (4 * (2 + 3 + 4 + 5)));
  EXPECT_EQ(report.batches, 1u + 2 * 5 + 1);
  EXPECT_EQ(report.bound, report.batches);
  EXPECT_EQ(report.kernel_calls, 12u + 11);  // a lookup needs no backward kernel
  EXPECT_EQ(report.copied_bytes, 0u);
}

TEST_F(MinibatchTest, IsEmptyAfterClear) {
  Minibatch batch;
  record(batch, 5);
  batch.forward();
  const Expression old = batch.graph(0).expression(0);
  batch.clear();
  EXPECT_TRUE(old.is_stale());
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_EQ(batch.forward(), 0.0f);
  record(batch, 5);
  expect_refused<UsageError>("...[clear]...", [&] { batch.graph(0).clear(); });
}

TEST_F(MinibatchTest, FreesValuesInInference) {
  Minibatch training;
  record(training, 40);
  const float loss = training.forward();
  Minibatch inference({.inference = true});
  record(inference, 40);
  const Expression inner = inference.graph(3).expression(2);
  EXPECT_EQ(inference.forward(), loss);
  EXPECT_LT(inference.explain().value_bytes, training.explain().value_bytes * 2 / 3);
  EXPECT_EQ(inference.explain().bound, training.explain().bound);
  // Freed values are computed again.
  EXPECT_EQ(as_vector(inner.value()), as_vector(training.graph(3).expression(2).value()));
  expect_refused<UsageError>("...inference...", [&] { inference.backward(); });
}

TEST_F(MinibatchTest, KeepsOutputsInInference) {
  Minibatch batch({.inference = true});
  std::vector<Expression> outputs;
  for (unsigned i = 0; i < 10; ++i) {
    ComputationGraph& graph = batch.new_graph();
    outputs.push_back(softmax(lookup(graph, table, i)));
    batch.add_output(outputs.back());
  }
  batch.forward();
  const std::uint64_t calls = batch.explain().kernel_calls;
  for (const Expression& output : outputs) output.value();
  EXPECT_EQ(batch.explain().kernel_calls, calls);
}

TEST_F(MinibatchTest, ComputesSharedExpressionsOnce) {
  Minibatch batch;
  for (unsigned i = 0; i < 20; ++i) {
    ComputationGraph& graph = batch.new_graph();
    const Expression scaled = tanh(parameter(graph, w)) * 0.5f;
    batch.add_loss(sum_elems(scaled * lookup(graph, table, i % 10)));
  }
  batch.forward();
  const std::vector<float> gradient = batch.backward().values(w);
  for (const Report::Type& type : batch.explain().types) {
    if (type.op == "tanh" || type.op == "scalar_multiply") {
      EXPECT_EQ(type.nodes, 1u);
    } else if (type.op == "matrix_product") {
      EXPECT_EQ(type.batches, 1u);
    }
  }
  Gradients apart;
  for (unsigned i = 0; i < 20; ++i) {
    ComputationGraph graph;
    const Expression scaled = tanh(parameter(graph, w)) * 0.5f;
    graph.backward(sum_elems(scaled * lookup(graph, table, i % 10)), apart);
  }
  const std::vector<float> expected = apart.values(w);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-5);
}

TEST_F(MinibatchTest, RefusesWhatIsNotItsOwn) {
  Minibatch batch, other;
  ComputationGraph alone;
  const Expression stranger = input(alone, 1.0f);
  expect_refused<UsageError>("...[add_loss]...", [&] { batch.add_loss(stranger); });
  expect_refused<UsageError>("...another...", [&] { batch.add_output(stranger); });
  const Expression vector = input(batch.new_graph(), Dim({2}), {1, 2});
  expect_refused<ShapeError>("...got {2}...", [&] { batch.add_loss(vector); });
  batch.add_loss(sum_elems(vector));
  expect_refused<UsageError>("...1 loss, 0 of them...", [&] { batch.backward(); });
}

/// Values of 32 bytes per node, but for the losses with what their softmax keeps.
TEST_F(MinibatchTest, ReportsMemory) {
  for (unsigned threads : {1u, 2u}) {
    Minibatch batch({.threads = threads});
    record(batch, 64);
    batch.forward();
    const std::uint64_t peak_of_forward = batch.explain().peak_bytes;
    batch.backward();
    const Report report = batch.explain();
    std::uint64_t sum = 0;
    for (const Report::Type& type : report.types) {
      EXPECT_EQ(type.value_bytes, type.nodes * (type.op == "cross_entropy" ? 12 : 32)) << type.op;
      sum += type.value_bytes;
    }
    // A batch has at most two pieces of memory, each rounded up to 64 bytes.
    EXPECT_LE(sum, report.value_bytes);
    EXPECT_GT(sum + report.batches * 2 * 64, report.value_bytes);
    EXPECT_GE(peak_of_forward, report.value_bytes);
    EXPECT_GE(report.peak_bytes, peak_of_forward + report.gradient_bytes);
    EXPECT_LT(report.peak_bytes, 2 * (report.value_bytes + report.gradient_bytes));
    // A smaller minibatch, of one lane, leaves the peak where it was.
    batch.clear();
    record(batch, 4);
    batch.forward();
    EXPECT_LT(batch.explain().value_bytes, report.value_bytes);
    EXPECT_EQ(batch.explain().peak_bytes, report.peak_bytes);
  }
}

TEST_F(MinibatchTest, ReportsTheLargestConsumers) {
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  const Expression x = input(graph, Dim({100}), std::vector<float>(100, 1));
  batch.add_loss(sum_elems(tanh(x)));
  batch.add_loss(sum_elems(tanh(input(graph, Dim({20}), std::vector<float>(20, 1)))));
  batch.forward();
  std::ostringstream text;
  text << batch.explain();
  const std::string peak = std::to_string(batch.explain().peak_bytes) + " at the peak\n";
  EXPECT_TRUE(mentions(text.str(), peak));
  // 400, 80, and twice 4 bytes.
  EXPECT_TRUE(mentions(text.str(),
                       "most values: tanh -> {100} 82 %, tanh -> {20} 16 %, sum_dim -> {1} 1 %"));
}

TEST_F(MinibatchTest, ReportsReadably) {
  Minibatch batch;
  record(batch, 3);
  const Expression x = input(batch.graph(0), Dim({5}), {1, 2, 3, 4, 5});
  batch.add_loss(sum_elems(tanh(x)));
  batch.forward();
  std::ostringstream text;
  text << batch.explain();
  EXPECT_TRUE(mentions(text.str(), "affine_transform"));
  EXPECT_TRUE(mentions(text.str(), "{8}* {8,8}* {8} -> {8}"));
  EXPECT_FALSE(mentions(text.str(), "not together"));  // two sizes, of which all have one
}

// ------------------------------------------------------------------- modes that check

// An op of the user's own: y = 2 x, or with `Broken` something that depends on the batch.
template <bool Broken>
void twice(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    for (std::size_t e = 0; e < size; ++e) {
      call.out.at<float>(i)[e] =
          2 * call.in[0].at<float>(i)[e] + (Broken && call.n > 2 && i == 2 && e == 1 ? 1.0f : 0.0f);
    }
  }
}

template <bool Broken>
void twice_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    float* dx = call.dx[0].at<float>(i);
    for (std::size_t e = 0; dx != nullptr && e < call.type->output_size; ++e) {
      const float gradient = 2 * call.dy.at<float>(i)[e] + (Broken && call.n > 1 ? 1.0f : 0.0f);
      dx[e] = call.dx[0].add[i] != 0 ? dx[e] + gradient : gradient;
    }
  }
}

template <bool BrokenForward, bool BrokenBackward>
const Op& twice_op() {
  static const Kernels kernels{{twice<BrokenForward>, nullptr},
                               {twice_backward<BrokenBackward>, nullptr}};
  static const Op op = [] {
    Op result;
    result.name = "twice";
    result.formula = "2 x";
    result.gradient.needs = Needs::nothing;
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.kernels = &kernels;
    return result;
  }();
  return op;
}

float run_twice(const Op& op, const LookupParameter& table, bool verify) {
  Minibatch batch({.verify_batching = verify});
  for (unsigned i = 0; i < 4; ++i) {
    ComputationGraph& graph = batch.new_graph();
    const Expression x = lookup(graph, table, i);
    const Expression y = apply_op(op, std::span(&x, 1));
    y.label("doubled " + std::to_string(i));
    batch.add_loss(sum_elems(y));
  }
  const float loss = batch.forward();
  batch.backward();
  return loss;
}

TEST_F(MinibatchTest, BatchesOpsOfTheUser) {
  double sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    for (float value : as_vector(table.values(i))) sum += 2 * static_cast<double>(value);
  }
  EXPECT_NEAR(run_twice(twice_op<false, false>(), table, true), sum, 1e-5);
}

TEST_F(MinibatchTest, VerificationFindsABrokenKernel) {
  EXPECT_NO_THROW(run_twice(twice_op<true, true>(), table, false));
  const std::string forward =
      message_of<NumericError>([&] { run_twice(twice_op<true, false>(), table, true); });
  EXPECT_TRUE(mentions(forward, "twice, node"));
  EXPECT_TRUE(mentions(forward, "(\"doubled 2\"), element 1 of its value"));
  const std::string backward =
      message_of<NumericError>([&] { run_twice(twice_op<false, true>(), table, true); });
  EXPECT_TRUE(mentions(backward, "gradient for input 0"));
}

TEST_F(MinibatchTest, AnomaliesAreNamed) {
  const GraphOptions options{.detect_anomaly = true};
  Minibatch batch(options);
  batch.new_graph();
  ComputationGraph& graph = batch.new_graph();
  const Expression x = input(graph, Dim({3}), {1, -1, 2});
  const Expression y = log(x);
  y.label("log of the score");
  batch.add_loss(sum_elems(y + 1));
  const std::string value = message_of<NumericError>([&] { batch.forward(); });
  EXPECT_TRUE(mentions(value,
                       "element 1 of the value of log, node 1 of sample 1 "
                       "(\"log of the score\")"));

  table.initialize(0, {0, 1, 1, 1, 1, 1, 1, 1});
  ComputationGraph alone(options);
  const Expression root = sqrt(lookup(alone, table, 0) * 1.0f);
  const std::string gradient = message_of<NumericError>([&] { alone.backward(sum_elems(root)); });
  EXPECT_TRUE(mentions(gradient, "element 0 of the gradient of scalar_multiply"));
}

TEST_F(MinibatchTest, TakesLessMemoryInParts) {
  Minibatch whole, parts({.memory_limit = 5000});
  for (Minibatch* batch : {&whole, &parts}) {
    record(*batch, 40);
    batch->forward();
  }
  EXPECT_GT(parts.parts(), 3u);
  EXPECT_LT(parts.explain().value_bytes, whole.explain().value_bytes);
  Gradients own, others;  // a second pass
  parts.backward(own);
  whole.backward(others);
  EXPECT_EQ(own.values(w), others.values(w));
}

TEST_F(MinibatchTest, DrawsNewNumbersPerStep) {
  const GraphOptions options{.seed = 5};
  Minibatch batch(options);
  const auto draw_from = [](Minibatch& batch) {
    std::vector<float> all;
    for (unsigned sample = 0; sample < 2; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = ones(graph, Dim({64}));
      for (const Expression& e : {dropout(x, 0.5f), dropout(x, 0.5f)}) {
        const std::vector<float> values = as_vector(e.value());
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  };
  const std::vector<float> first = draw_from(batch);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(
          std::equal(first.begin() + 64 * i, first.begin() + 64 * (i + 1), first.begin() + 64 * j));
    }
  }
  batch.clear();
  EXPECT_NE(draw_from(batch), first);
  Minibatch same_seed(options);
  EXPECT_EQ(draw_from(same_seed), first);
  const float kept = static_cast<float>(std::count(first.begin(), first.end(), 2.0f));
  EXPECT_NEAR(kept, 128, 40);
}

}  // namespace
}  // namespace dynet_like
