// <dynet/cfsm-builder.h>, <dynet/hsm-builder.h>: softmaxes over all classes, over classes of words,
// and at the clusters of a tree.
#include <dynet/cfsm-builder.h>
#include <dynet/grad-check.h>
#include <dynet/hsm-builder.h>

#include "dynet_like/core/errors.h"
#include "tests/compat/builders.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::FileError;
using dynet_like::UsageError;
using BuilderPointer = std::unique_ptr<SoftmaxBuilder>;

constexpr unsigned kRep = 3, kWords = 7;
constexpr double kNever = -INFINITY;
const Doubles kInput = {0.5, -1, 2};

std::string written(const std::string& text) {
  const std::string path = testing::TempDir() + "dynet_classes.txt";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// ---------------------------------------------------------------------------------- in doubles

Doubles plain_log_softmax(Doubles logits) {
  double sum = 0;
  for (const double l : logits) sum += std::exp(l);
  for (double& l : logits) l -= std::log(sum);
  return logits;
}

/// The parameters of all softmaxes of a model, one after the other.
struct Softmaxes {
  const ParameterCollection& model;
  bool bias = true;

  Doubles logits(unsigned which) const {
    const auto list = model.parameters_list();
    const Parameter w(list[bias ? 2 * which : which]);
    Doubles sum = bias ? numbers(Parameter(list[2 * which + 1])) : Doubles(w.dim().rows());
    dynet_like::nn::add_product(sum, numbers(w), kInput);
    return sum;
  }
  /// Two outcomes may share one logit.
  Doubles logs(unsigned which) const {
    const Doubles z = logits(which);
    if (z.size() > 1) return plain_log_softmax(z);
    return {-std::log1p(std::exp(-z[0])), -std::log1p(std::exp(z[0]))};
  }
};

/// A builder over seven words, and formulas of its logits.
struct Kind {
  std::string name;
  BuilderPointer (*make)(ParameterCollection&, Dict&);
  Doubles (*logits)(const Softmaxes&);
  unsigned rows;      ///< of all softmaxes together
  std::string words;  ///< of the dictionary, in which "s" was before
  bool bias = true;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

Doubles standard(const Softmaxes& of) { return of.logits(0); }

/// Classes A = {x, y, z}, B = {u}, C = {v, w}; "s" has none.
const char* const kClasses = "A x 3\nB\tu\t17\n\n  C   v\nA y\n \t\nC w and more\r\nA\tz\n";

Doubles class_factored(const Softmaxes& of) {
  const Doubles classes = of.logs(0), a = of.logs(1), c = of.logs(2);
  return {kNever,
          classes[0] + a[0],
          classes[1],
          classes[2] + c[0],
          classes[0] + a[1],
          classes[2] + c[1],
          classes[0] + a[2]};
}

/// Binary codes. The root, "0" and "01" have two children each, "00" three words, others one.
const char* const kPaths = "00\tx\t5\n00\ty\t3\n010\tu\n\n011 v 1\n00\tz\n1 w\n";

Doubles hierarchical(const Softmaxes& of) {
  const Doubles root = of.logs(0), zero = of.logs(1), leaf = of.logs(2), zero_one = of.logs(3);
  const double in_leaf = root[0] + zero[0], beside = root[0] + zero[1];
  return {kNever,
          in_leaf + leaf[0],
          in_leaf + leaf[1],
          beside + zero_one[0],
          beside + zero_one[1],
          in_leaf + leaf[2],
          root[1]};
}

template <bool bias>
BuilderPointer make_standard(ParameterCollection& model, Dict&) {
  return std::make_unique<StandardSoftmaxBuilder>(kRep, kWords, model, bias);
}
template <bool bias>
BuilderPointer make_of_parameters(ParameterCollection& model, Dict&) {
  const Parameter w = model.add_parameters({kWords, kRep});
  if (!bias) return std::make_unique<StandardSoftmaxBuilder>(w);
  return std::make_unique<StandardSoftmaxBuilder>(w, model.add_parameters({kWords}));
}
template <bool bias>
BuilderPointer make_class_factored(ParameterCollection& model, Dict& words) {
  return std::make_unique<ClassFactoredSoftmaxBuilder>(kRep, written(kClasses), words, model, bias);
}
BuilderPointer make_hierarchical(ParameterCollection& model, Dict& words) {
  return std::make_unique<HierarchicalSoftmaxBuilder>(kRep, written(kPaths), words, model);
}

const Kind kKinds[] = {
    {"standard", make_standard<true>, standard, 7, "s"},
    {"standard_without_bias", make_standard<false>, standard, 7, "s", false},
    {"of_the_callers_parameters", make_of_parameters<true>, standard, 7, "s"},
    {"of_the_callers_weights", make_of_parameters<false>, standard, 7, "s", false},
    {"class_factored", make_class_factored<true>, class_factored, 3 + 3 + 2, "sxuvywz"},
    {"class_factored_without_bias", make_class_factored<false>, class_factored, 3 + 3 + 2,
     "sxuvywz", false},
    {"hierarchical", make_hierarchical, hierarchical, 1 + 1 + 1 + 3, "sxyuvzw"},
};

/// As often as the probabilities say.
template <class Draw>
void expect_samples(const Doubles& logs, const Draw& draw) {
  constexpr unsigned kSamples = 3000;
  std::vector<unsigned> counts(logs.size());
  for (unsigned i = 0; i < kSamples; ++i) ++counts.at(draw());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = std::exp(logs[i]);
    EXPECT_NEAR(counts[i], kSamples * p, 5 * std::sqrt(kSamples * p * (1 - p)) + 1e-9) << i;
  }
}

void expect_same(const Expression& got, const Doubles& expected) {
  const Doubles values = as_doubles(got.value());
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(values[i] == expected[i] || std::abs(values[i] - expected[i]) < 1e-5)
        << values[i] << " and " << expected[i] << " at " << i;
  }
}

// --------------------------------------------------------------------------------- all builders

struct CompatSoftmaxTest : testing::TestWithParam<Kind> {
  CompatSoftmaxTest() {
    reset_rng(1);
    words.convert("s");
    builder = GetParam().make(model, words);
    randomise(model, 1);
    logits = GetParam().logits({model, GetParam().bias});
    builder->new_graph(graph);
  }
  unsigned first() const { return std::isinf(logits[0]) ? 1 : 0; }

  Dict words;
  ParameterCollection model;
  BuilderPointer builder;
  ComputationGraph graph;
  const Expression x = as_input(graph, kInput);
  Doubles logits;
};

INSTANTIATE_TEST_SUITE_P(All, CompatSoftmaxTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

TEST_P(CompatSoftmaxTest, IsItsDistribution) {
  const Doubles logs = plain_log_softmax(logits);
  expect_same(builder->full_logits(x), logits);
  expect_same(builder->full_log_distribution(x), logs);
  for (unsigned word = 0; word < kWords; ++word) {
    if (std::isinf(logs[word])) {
      EXPECT_THROW(builder->neg_log_softmax(x, word), UsageError);
    } else {
      expect_same(builder->neg_log_softmax(x, word), {-logs[word]});
    }
  }
  EXPECT_THROW(builder->neg_log_softmax(x, kWords), UsageError);
  expect_samples(logs, [&] { return builder->sample(x); });
}

TEST_P(CompatSoftmaxTest, HasGradients) {
  for (unsigned word = first(); word < kWords; ++word) {
    Expression loss = builder->neg_log_softmax(x, word),
               same = -pick(builder->full_logits(x), word);
    EXPECT_TRUE(check_grad(model, loss));
    EXPECT_TRUE(check_grad(model, same));
  }
}

TEST_P(CompatSoftmaxTest, UpdateSaysWhetherThereAreGradients) {
  for (const bool update : {false, true}) {
    builder->new_graph(graph, update);
    graph.backward(builder->neg_log_softmax(x, 3));
    EXPECT_EQ(model.parameters_list()[0]->has_grad(), update);
  }
  model.reset_gradient();
}

TEST_P(CompatSoftmaxTest, TakesAWordPerMinibatchElement) {
  const Expression batch = input(graph, Dim({kRep}, 3), {1, 2, -1, 0.5f, 0.25f, 3, -2, 0, 1});
  const std::vector<unsigned> wanted = {2, 6, 3};
  const Expression losses = builder->neg_log_softmax(batch, wanted);
  EXPECT_EQ(losses.dim(), Dim({1}, 3));
  const Expression all = builder->full_log_distribution(batch);
  EXPECT_EQ(all.dim(), Dim({kWords}, 3));
  for (unsigned i = 0; i < 3; ++i) {
    const Expression alone = builder->neg_log_softmax(pick_batch_elem(batch, i), wanted[i]);
    EXPECT_NEAR(as_vector(losses.value())[i], as_scalar(alone.value()), 1e-6);
    EXPECT_NEAR(as_vector(all.value())[kWords * i + wanted[i]], -as_scalar(alone.value()), 1e-5);
  }
  EXPECT_EQ(as_vector(builder->neg_log_softmax(x, wanted).value())[1],
            as_scalar(builder->neg_log_softmax(x, 6).value()));
  EXPECT_THROW(builder->neg_log_softmax(batch, std::vector<unsigned>{1, 2}), UsageError);
  EXPECT_THROW(builder->neg_log_softmax(x, std::vector<unsigned>{}), UsageError);
}

TEST_P(CompatSoftmaxTest, HasItsWordsAndParameters) {
  std::string all;
  for (const std::string& word : words.get_words()) all += word;
  EXPECT_EQ(all, GetParam().words);
  EXPECT_EQ(model.parameter_count(), GetParam().rows * (kRep + (GetParam().bias ? 1 : 0)));
  EXPECT_EQ(builder->get_parameter_collection().parameter_count(),
            GetParam().name.starts_with("of_the_caller") ? 0 : model.parameter_count());
}

// --------------------------------------------------------------------------------------- files

struct CompatClassFileTest : testing::Test {
  /// How many words a builder that reads this text gives a probability.
  template <class Builder>
  unsigned size_of(const std::string& text) {
    Builder builder(kRep, written(text), words, model);
    ComputationGraph graph;
    builder.new_graph(graph);
    return builder.full_logits(as_input(graph, kInput)).dim().rows();
  }

  Dict words;
  ParameterCollection model;
};

TEST_F(CompatClassFileTest, ShowsItsClasses) {
  ClassFactoredSoftmaxBuilder builder(kRep, written(kClasses), words, model);
  randomise(model, 1);
  ComputationGraph graph;
  builder.new_graph(graph);
  builder.initialize_expressions();
  const Expression x = as_input(graph, kInput);
  const Softmaxes of{model};
  expect_same(builder.class_logits(x), of.logits(0));
  expect_same(builder.class_log_distribution(x), of.logs(0));
  expect_same(builder.subclass_logits(x, 2), of.logits(2));
  expect_same(builder.subclass_log_distribution(x, 2), of.logs(2));
  expect_same(builder.subclass_logits(x, 1), {0});
  expect_same(builder.subclass_log_distribution(x, 1), {0});
  EXPECT_THROW(builder.subclass_logits(x, 3), UsageError);
}

TEST_F(CompatClassFileTest, PassesOverWhatAFrozenDictionaryTakesForUnknown) {
  for (const char* word : {"<unk>", "x", "v"}) words.convert(word);  // the first may be unknown
  words.freeze();
  EXPECT_THROW(size_of<ClassFactoredSoftmaxBuilder>(kClasses), FileError);
  words.set_unk("<unk>");
  ASSERT_EQ(words.get_unk_id(), 0);
  EXPECT_EQ(size_of<ClassFactoredSoftmaxBuilder>(kClasses), 3u);
  EXPECT_EQ(model.parameters_list()[0]->dim, Dim({2, kRep}));
}

TEST_F(CompatClassFileTest, AByteOrderMarkIsNoPartOfTheFirstClass) {
  EXPECT_EQ(size_of<ClassFactoredSoftmaxBuilder>("\xEF\xBB\xBF"
                                                 "A v\nA x\nB w\n"),
            3u);
  EXPECT_EQ(model.parameters_list()[0]->dim, Dim({2, kRep}));
}

TEST_F(CompatClassFileTest, PathsMayHaveAnySymbols) {
  EXPECT_EQ(size_of<HierarchicalSoftmaxBuilder>(
                "animal cat\ttom\nanimal dog\trex\nanimal dog\tfido\nplant\toak\n"),
            4u);
  EXPECT_EQ(model.parameter_count(), 3 * (kRep + 1));  // the root, "animal" and "animal dog"
}

TEST_F(CompatClassFileTest, ReportsBadLines) {
  struct BadFile {
    bool is_tree;
    std::string text;
    std::size_t line;
  };
  for (const auto& [is_tree, text, line] :
       {BadFile{false, "A x\nB\n", 2}, BadFile{false, "A x\n\nB x\n", 3},
        BadFile{false, "A " + std::string(1 << 17, 'x') + "\n", 1}, BadFile{false, "\n", 0},
        BadFile{true, "0\tx\n1\n", 2}, BadFile{true, "0\tx\n1\tx\n", 2},
        BadFile{true, "0\tx\n01\ty\n", 2}, BadFile{true, "01\tx\n0\ty\n", 2},
        BadFile{true, std::string(257, '0') + "\tx\n", 1}, BadFile{true, "\tx\n", 1},
        BadFile{true, "", 0}}) {
    words.clear();
    try {
      is_tree ? size_of<HierarchicalSoftmaxBuilder>(text)
              : size_of<ClassFactoredSoftmaxBuilder>(text);
      ADD_FAILURE() << text;
    } catch (const FileError& error) {
      EXPECT_EQ(error.line(), line) << text;
      EXPECT_TRUE(dynet_like::mentions(std::string(error.what()), "dynet_classes.txt"));
    }
  }
  EXPECT_THROW(ClassFactoredSoftmaxBuilder(kRep, "/nowhere", words, model), FileError);
}

// ------------------------------------------------------------------------------------- clusters

TEST(CompatClusterTest, LeavesHaveOneTwoOrMoreWords) {
  reset_rng(1);
  for (unsigned count = 1; count <= 4; ++count) {
    ParameterCollection model;
    Cluster leaf;
    for (unsigned i = 0; i < count; ++i) leaf.add_word(10 + i);
    EXPECT_THROW(leaf.initialize(model), UsageError);
    leaf.initialize(kRep, model);
    EXPECT_EQ(model.parameter_count(), count == 1 ? 0 : (count == 2 ? 1 : count) * (kRep + 1));
    randomise(model, count);
    ComputationGraph graph;
    leaf.new_graph(graph);
    const Expression x = as_input(graph, kInput);
    const Doubles logs = count == 1 ? Doubles{0} : Softmaxes{model}.logs(0);
    expect_same(leaf.log_distribution(x, graph), logs);
    expect_samples(logs, [&] { return leaf.sample(x, graph); });
    for (unsigned r = 0; r < count; ++r) {
      EXPECT_EQ(leaf.get_index(10 + r), r);
      EXPECT_EQ(leaf.get_word(r), 10 + r);
      expect_same(leaf.neg_log_softmax(x, r, graph), {-logs[r]});
    }
    EXPECT_THROW(leaf.neg_log_softmax(x, count, graph), UsageError);
    EXPECT_THROW(leaf.get_word(count), UsageError);
    EXPECT_THROW(leaf.get_index(1), UsageError);
    if (count > 1) continue;  // a word alone needs no parameters
    EXPECT_THROW(leaf.get_weights(graph), UsageError);
    EXPECT_THROW(leaf.get_bias(graph), UsageError);
  }
}

TEST(CompatClusterTest, ChildrenAreFoundBySymbol) {
  Cluster root;
  Cluster* const a = root.add_child(7);
  Cluster* const b = root.add_child(9);
  EXPECT_EQ(root.add_child(7), a);
  EXPECT_EQ(root.num_children(), 2u);
  EXPECT_EQ(root.get_child(1), b);
  EXPECT_EQ(root.get_index(9), 1u);
  EXPECT_THROW(root.get_child(2), UsageError);
  Cluster* const c = b->add_child(3);
  EXPECT_EQ(c->get_path(), (std::vector<unsigned>{9, 3}));
  EXPECT_EQ(c->toString(), "9 3");
  EXPECT_EQ(root.toString(), "");
  c->add_word(1);
  EXPECT_THROW(c->add_word(1), UsageError);
  EXPECT_THROW(c->add_child(1), UsageError);
  EXPECT_THROW(root.add_word(1), UsageError);
}

TEST(CompatClusterTest, CanMoveToAnotherCollection) {
  Dict words;
  ParameterCollection model, other;
  HierarchicalSoftmaxBuilder builder(kRep, written(kPaths), words, model);
  builder.initialize(other);
  EXPECT_EQ(other.parameter_count(), model.parameter_count());
  ComputationGraph graph;
  builder.new_graph(graph);
  graph.backward(builder.neg_log_softmax(as_input(graph, kInput), 4));
  EXPECT_FALSE(model.parameters_list()[0]->has_grad());
  EXPECT_TRUE(other.parameters_list()[0]->has_grad());
  other.reset_gradient();
}

}  // namespace
}  // namespace dynet
