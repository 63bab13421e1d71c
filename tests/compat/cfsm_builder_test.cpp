// <dynet/cfsm-builder.h>: softmaxes over all classes, and over classes of words.
#include <dynet/cfsm-builder.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "dynet_like/core/errors.h"
#include "tests/compat/softmax.h"

namespace {

using namespace dynet;
using dynet_like::FileError;
using dynet_like::UsageError;
using Doubles = std::vector<double>;

constexpr unsigned kRep = 3;
const std::vector<float> kInput = {0.5f, -1.0f, 2.0f};

std::string written(const std::string& text) {
  const std::string path = testing::TempDir() + "dynet_classes.txt";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// W x + b, or W x without b, in double.
Doubles plain_logits(const Parameter& w, const Parameter* b, const std::vector<float>& x) {
  Doubles result(w.dim().d[0]);
  for (unsigned r = 0; r < result.size(); ++r) {
    if (b != nullptr) result[r] = static_cast<double>(b->values()->v[r]);
    for (unsigned c = 0; c < x.size(); ++c) {
      const float weight = w.values()->v[c * result.size() + r];
      result[r] += static_cast<double>(weight) * static_cast<double>(x[c]);
    }
  }
  return result;
}

Doubles plain_log_softmax(Doubles logits) {
  double sum = 0;
  for (const double l : logits) sum += std::exp(l);
  for (double& l : logits) l -= std::log(sum);
  return logits;
}

void expect_near(const std::vector<float>& got, const Doubles& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
}

void set(const Parameter& p, float scale) {
  std::vector<float> values(p.dim().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * std::sin(static_cast<float>(i) + scale);
  }
  p.set_value(values);
}

void check_standard(StandardSoftmaxBuilder& builder, const Parameter& w, const Parameter* b) {
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  const Doubles logits = plain_logits(w, b, kInput), logs = plain_log_softmax(logits);
  expect_near(as_vector(builder.full_logits(x).value()), logits);
  expect_near(as_vector(builder.full_log_distribution(x).value()), logs);
  for (unsigned c = 0; c < logs.size(); ++c) {
    EXPECT_NEAR(as_scalar(builder.neg_log_softmax(x, c).value()), -logs[c], 1e-5);
  }
  std::vector<float> two = kInput;
  two.insert(two.end(), {1.0f, 0.25f, -0.5f});
  const Expression batch = input(graph, Dim({kRep}, 2), two);
  const Doubles second = plain_log_softmax(plain_logits(w, b, {1.0f, 0.25f, -0.5f}));
  const std::vector<unsigned> classes = {3, 1};
  expect_near(as_vector(builder.neg_log_softmax(batch, classes).value()), {-logs[3], -second[1]});
  EXPECT_THROW(builder.neg_log_softmax(x, 4), UsageError);
  reset_rng(1);
  expect_samples(builder, x, logs, 4000);
}

struct CompatSoftmaxBuilderTest : testing::Test {
  CompatSoftmaxBuilderTest() { reset_rng(1); }
};

TEST_F(CompatSoftmaxBuilderTest, StandardWithItsOwnParameters) {
  ParameterCollection model;
  StandardSoftmaxBuilder builder(kRep, 4, model);
  const auto parameters = builder.get_parameter_collection().parameters_list();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(model.parameter_count(), 4 * kRep + 4);
  const Parameter w(parameters[0]), b(parameters[1]);
  EXPECT_EQ(as_vector(*b.values()), std::vector<float>(4, 0.0f));
  set(b, 0.7f);
  check_standard(builder, w, &b);
}

TEST_F(CompatSoftmaxBuilderTest, StandardWithoutBias) {
  ParameterCollection model;
  StandardSoftmaxBuilder builder(kRep, 4, model, false);
  const auto parameters = builder.get_parameter_collection().parameters_list();
  ASSERT_EQ(parameters.size(), 1u);
  check_standard(builder, Parameter(parameters[0]), nullptr);
}

TEST_F(CompatSoftmaxBuilderTest, StandardWithParametersOfTheCaller) {
  ParameterCollection model;
  Parameter w = model.add_parameters({4, kRep}), b = model.add_parameters({4});
  set(b, 0.3f);
  StandardSoftmaxBuilder with_bias(w, b), without(w);
  check_standard(with_bias, w, &b);
  check_standard(without, w, nullptr);
  EXPECT_EQ(with_bias.get_parameter_collection().parameter_count(), 0u);
}

TEST_F(CompatSoftmaxBuilderTest, UpdateSaysWhetherThereAreGradients) {
  ParameterCollection model;
  StandardSoftmaxBuilder builder(kRep, 4, model);
  const auto parameters = model.parameters_list();
  for (const bool update : {false, true}) {
    ComputationGraph graph;
    builder.new_graph(graph, update);
    const Expression loss = builder.neg_log_softmax(input(graph, {kRep}, kInput), 2);
    graph.backward(loss);
    EXPECT_EQ(parameters[0]->has_grad(), update);
    EXPECT_EQ(parameters[1]->has_grad(), update);
  }
  model.reset_gradient();
}

/// Classes A = {x, y, z}, B = {u}, C = {v, w}; "s" was in the dictionary before and has no class.
struct ClassFactored : CompatSoftmaxBuilderTest {
  ClassFactored() {
    words.convert("s");
    path = written("A x 3\nB\tu\t17\n\n  C   v\nA y\n \t\nC w and more\r\nA\tz\n");
  }

  // ln P of every word of a builder's dictionary, and what the parameters are.
  Doubles plain(ClassFactoredSoftmaxBuilder& builder, bool bias) const {
    const auto list = builder.get_parameter_collection().parameters_list();
    const auto logs = [&](unsigned i) {
      const Parameter w(list[bias ? 2 * i : i]);
      const Parameter b(list[bias ? 2 * i + 1 : i]);
      return plain_log_softmax(plain_logits(w, bias ? &b : nullptr, kInput));
    };
    const Doubles classes = logs(0), a = logs(1), c = logs(2);
    return {-INFINITY,         classes[0] + a[0], classes[1],       classes[2] + c[0],
            classes[0] + a[1], classes[2] + c[1], classes[0] + a[2]};
  }

  void check(ClassFactoredSoftmaxBuilder& builder, bool bias) {
    ComputationGraph graph;
    builder.new_graph(graph);
    builder.initialize_expressions();
    const Expression x = input(graph, {kRep}, kInput);
    const Doubles logs = plain(builder, bias);
    const std::vector<float> all = as_vector(builder.full_log_distribution(x).value());
    ASSERT_EQ(all.size(), words.size());
    EXPECT_EQ(all[0], -INFINITY);
    double sum = 0;
    for (unsigned w = 1; w < words.size(); ++w) {
      EXPECT_NEAR(all[w], logs[w], 1e-5) << w;
      EXPECT_NEAR(as_scalar(builder.neg_log_softmax(x, w).value()), -logs[w], 1e-5) << w;
      sum += std::exp(static_cast<double>(all[w]));
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(as_vector(builder.full_logits(x).value()), all);
    EXPECT_THROW(builder.neg_log_softmax(x, 0), UsageError);
    EXPECT_THROW(builder.neg_log_softmax(x, 7), UsageError);
    reset_rng(2);
    expect_samples(builder, x, logs, 4000);
  }

  Dict words;
  ParameterCollection model;
  std::string path;
};

TEST_F(ClassFactored, IsASoftmaxOverClassesAndOneOverTheWordsOfAClass) {
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model);
  EXPECT_EQ(words.get_words(), (std::vector<std::string>{"s", "x", "u", "v", "y", "w", "z"}));
  EXPECT_EQ(model.parameter_count(), (3 + 3 + 2) * (kRep + 1));
  for (const auto& p : model.parameters_list()) {
    if (p->dim.nd == 1) set(Parameter(p), 0.4f);
  }
  check(builder, true);
}

TEST_F(ClassFactored, NeedsNoBias) {
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model, false);
  EXPECT_EQ(model.parameter_count(), (3 + 3 + 2) * kRep);
  check(builder, false);
}

TEST_F(ClassFactored, ShowsItsParts) {
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model);
  const auto list = model.parameters_list();
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  const Parameter w(list[0]), wc(list[4]);
  const Doubles classes = plain_logits(w, nullptr, kInput), c = plain_logits(wc, nullptr, kInput);
  expect_near(as_vector(builder.class_logits(x).value()), classes);
  expect_near(as_vector(builder.class_log_distribution(x).value()), plain_log_softmax(classes));
  expect_near(as_vector(builder.subclass_logits(x, 2).value()), c);
  expect_near(as_vector(builder.subclass_log_distribution(x, 2).value()), plain_log_softmax(c));
  expect_near(as_vector(builder.subclass_logits(x, 1).value()), {0});
  expect_near(as_vector(builder.subclass_log_distribution(x, 1).value()), {0});
  EXPECT_THROW(builder.subclass_logits(x, 3), UsageError);
}

TEST_F(ClassFactored, HasGradients) {
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  expect_gradients(builder, model, x, words.size());
}

TEST_F(ClassFactored, TakesAWordPerMinibatchElement) {
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model);
  ComputationGraph graph;
  builder.new_graph(graph, false);
  std::vector<float> numbers(3 * kRep);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::cos(static_cast<float>(i));
  const Expression batch = input(graph, Dim({kRep}, 3), numbers);
  const std::vector<unsigned> wanted = {2, 6, 3};
  const Expression losses = builder.neg_log_softmax(batch, wanted);
  EXPECT_EQ(losses.dim(), Dim({1}, 3));
  const Expression all = builder.full_log_distribution(batch);
  EXPECT_EQ(all.dim(), Dim({7}, 3));
  for (unsigned i = 0; i < 3; ++i) {
    const Expression alone = builder.neg_log_softmax(pick_batch_elem(batch, i), wanted[i]);
    EXPECT_NEAR(as_vector(losses.value())[i], as_scalar(alone.value()), 1e-6);
    EXPECT_NEAR(as_vector(all.value())[7 * i + wanted[i]], -as_scalar(alone.value()), 1e-5);
  }
  const Expression one = input(graph, {kRep}, kInput);
  EXPECT_EQ(as_vector(builder.neg_log_softmax(one, wanted).value())[1],
            as_scalar(builder.neg_log_softmax(one, 6).value()));
  EXPECT_THROW(builder.neg_log_softmax(batch, std::vector<unsigned>{1, 2}), UsageError);
  EXPECT_THROW(builder.neg_log_softmax(one, std::vector<unsigned>{}), UsageError);
  graph.backward(sum_batches(losses));
  EXPECT_FALSE(model.parameters_list()[0]->has_grad());
}

TEST_F(ClassFactored, PassesOverWhatAFrozenDictionaryTakesForUnknown) {
  for (const char* word : {"x", "v", "<unk>"}) words.convert(word);
  words.freeze();
  EXPECT_THROW(ClassFactoredSoftmaxBuilder(kRep, path, words, model), FileError);
  words.set_unk("<unk>");
  ClassFactoredSoftmaxBuilder builder(kRep, path, words, model);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input(graph, {kRep}, kInput);
  EXPECT_EQ(builder.class_logits(x).dim(), Dim({2}));
  EXPECT_EQ(builder.full_logits(x).dim(), Dim({4}));
  EXPECT_THROW(builder.neg_log_softmax(x, static_cast<unsigned>(words.get_unk_id())), UsageError);
}

TEST_F(ClassFactored, TheUnknownWordMayBeTheFirst) {
  Dict few;
  for (const char* word : {"<unk>", "x", "v"}) few.convert(word);
  few.freeze();
  few.set_unk("<unk>");
  ASSERT_EQ(few.get_unk_id(), 0);
  ClassFactoredSoftmaxBuilder builder(kRep, path, few, model);
  ComputationGraph graph;
  builder.new_graph(graph);
  EXPECT_EQ(builder.full_logits(input(graph, {kRep}, kInput)).dim(), Dim({3}));
}

TEST_F(ClassFactored, AByteOrderMarkIsNoPartOfTheFirstClass) {
  const std::string mark = "\xEF\xBB\xBF";
  ClassFactoredSoftmaxBuilder builder(kRep, written(mark + "A v\nA x\nB w\n"), words, model);
  ComputationGraph graph;
  builder.new_graph(graph);
  EXPECT_EQ(builder.class_logits(input(graph, {kRep}, kInput)).dim(), Dim({2}));
}

TEST_F(ClassFactored, ReportsBadLines) {
  const auto line_of = [&](const std::string& text) -> std::size_t {
    try {
      ClassFactoredSoftmaxBuilder(kRep, written(text), words, model);
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("dynet_classes.txt"), std::string::npos);
      return error.line();
    }
    ADD_FAILURE() << text;
    return 0;
  };
  EXPECT_EQ(line_of("A x\nB\n"), 2u);
  EXPECT_EQ(line_of("A x\n\nB x\n"), 3u);
  EXPECT_EQ(line_of("A " + std::string(1 << 17, 'x') + "\n"), 1u);
  EXPECT_EQ(line_of("\n"), 0u);
  EXPECT_THROW(ClassFactoredSoftmaxBuilder(kRep, "/nowhere", words, model), FileError);
}

}  // namespace
