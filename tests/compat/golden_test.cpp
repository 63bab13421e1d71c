// Builders and trainers compute the numbers that a DyNet 2.1 computed with the same models.
#include <dynet/cfsm-builder.h>
#include <dynet/dict.h>
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/fast-lstm.h>
#include <dynet/gru.h>
#include <dynet/io.h>
#include <dynet/lstm.h>
#include <dynet/rnn.h>
#include <dynet/training.h>
#include <dynet/treelstm.h>
#include <cstdlib>
#include <set>
#include <utility>

#include "tests/support/precompiled.h"

namespace dynet {
namespace {

namespace fs = std::filesystem;

// ------------------------------------------------------------------------------ DyNet's numbers

/// "gru1 h0" and its numbers. The first word names the subject.
using Row = std::pair<std::string, std::vector<float>>;
using Rows = std::vector<Row>;

fs::path folder() {
  const char* data = std::getenv("DYNET_LIKE_DATA");
  return data == nullptr ? "" : fs::path(data) / "dynet_golden";
}
std::string path_of(const std::string& file) { return (folder() / file).string(); }

std::string subject_of(const Row& row) { return row.first.substr(0, row.first.find(' ')); }

Rows read_rows() {
  std::ifstream file(folder() / "dynet.tsv");
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    std::istringstream numbers(tab == std::string::npos ? "" : line.substr(tab));
    rows.emplace_back(line.substr(0, tab), std::vector<float>());
    for (float number; numbers >> number;) rows.back().second.push_back(number);
    EXPECT_TRUE(numbers.eof() && !rows.back().second.empty()) << line;
  }
  return rows;
}

/// Within 1e-5 of the larger one, or 1e-6.
bool agree(float a, float b) {
  return std::abs(a - b) <= std::max(1e-6f, 1e-5f * std::max(std::abs(a), std::abs(b)));
}

/// The rows are as many, with the same names, and their numbers agree.
void expect_agreement(Rows got, Rows expected) {
  const auto by_name = [](const Row& a, const Row& b) { return a.first < b.first; };
  std::sort(got.begin(), got.end(), by_name);
  std::sort(expected.begin(), expected.end(), by_name);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& [name, numbers] = got[i];
    const std::vector<float>& from_dynet = expected[i].second;
    ASSERT_EQ(name, expected[i].first);
    EXPECT_TRUE(
        std::equal(numbers.begin(), numbers.end(), from_dynet.begin(), from_dynet.end(), agree))
        << name << ": " << testing::PrintToString(numbers) << ", in DyNet "
        << testing::PrintToString(from_dynet);
  }
}

// ------------------------------------------------------------------------------------ our numbers

/// The rows of a subject, without its name.
class Results {
 public:
  explicit Results(std::string subject) : subject_(std::move(subject)) {}

  const std::string& subject() const { return subject_; }
  void add(const std::string& name, std::vector<float> numbers) {
    rows.emplace_back(subject_ + ' ' + name, std::move(numbers));
  }
  void add(const std::string& name, const std::vector<Expression>& all) {
    std::vector<float> numbers;
    for (const Expression& e : all) {
      for (const float number : as_vector(e.value())) numbers.push_back(number);
    }
    add(name, numbers);
  }
  /// Euclidean norms of the gradients of a loss, of parameters and then of tables.
  void add_gradients(ParameterCollection& model, ComputationGraph& graph, const Expression& loss) {
    model.reset_gradient();
    graph.forward(loss);
    graph.backward(loss);
    std::vector<float> norms;
    const auto add_norms = [&](const auto& list) {
      for (const auto& storage : list) {
        storage->g_squared_l2norm(&norms.emplace_back());
        norms.back() = std::sqrt(norms.back());
      }
    };
    add_norms(model.parameters_list());
    add_norms(model.lookup_parameters_list());
    model.reset_gradient();
    add("gradient_norms", norms);
  }

  Rows rows;

 private:
  std::string subject_;
};

/// Computes the rows of a subject. `load` reads its parameters, once the model has them.
using Compute =
    std::function<void(Results&, ParameterCollection&, const std::function<void()>& load)>;

/// Input t of a builder.
Expression input_at(ComputationGraph& graph, unsigned t, unsigned size = 4) {
  std::vector<float> x(size);
  for (unsigned i = 0; i < size; ++i) x[i] = static_cast<float>(std::sin(0.7 * t + 0.3 * i + 0.1));
  return input(graph, {size}, x);
}

void add_sequences(Results& results, RNNBuilder& builder, ParameterCollection& model) {
  ComputationGraph graph;
  builder.new_graph(graph);
  builder.start_new_sequence();
  std::vector<Expression> outputs, h_0;
  for (unsigned t = 0; t < 5; ++t) {
    outputs.push_back(builder.add_input(input_at(graph, t)));
    results.add("h" + std::to_string(t), {outputs.back()});
  }
  results.add("final_s", builder.final_s());
  results.add_gradients(model, graph, sum_elems(sum(outputs)));

  builder.start_new_sequence();
  builder.add_input(input_at(graph, 0));
  const RNNPointer kept = builder.state();
  builder.add_input(input_at(graph, 1));
  results.add("from_state", {builder.add_input(kept, input_at(graph, 2))});
  builder.rewind_one_step();
  results.add("after_rewind", {builder.add_input(input_at(graph, 3))});

  for (unsigned i = 0; i < builder.num_h0_components(); ++i) {
    h_0.push_back(input_at(graph, 10 + i, 6));
  }
  builder.start_new_sequence(h_0);
  for (unsigned t = 0; t < 3; ++t) builder.add_input(input_at(graph, t));
  results.add("with_initial_state", {builder.back()});
}

template <class Builder, class... More>
Compute sequences(More... more) {
  return [=](Results& results, ParameterCollection& model, const auto& load) {
    Builder builder(1, 4, 6, model, more...);
    load();
    add_sequences(results, builder, model);
  };
}

template <class Builder, class... Sizes>
Compute trees(Sizes... sizes) {
  return [=](Results& results, ParameterCollection& model, const auto& load) {
    const std::vector<std::vector<int>> tree = {{}, {}, {0, 1}, {}, {}, {3, 4}, {2, 5}};
    Builder builder(sizes..., model);
    load();
    ComputationGraph graph;
    builder.new_graph(graph);
    builder.start_new_sequence();
    // DyNet's other builders crash after this call.
    if (results.subject() == "bitree1") builder.set_num_elements(static_cast<int>(tree.size()));
    Expression output;
    for (unsigned node = 0; node < tree.size(); ++node) {
      output = builder.add_input(static_cast<int>(node), tree[node], input_at(graph, node));
      results.add("node" + std::to_string(node), {output});
    }
    results.add_gradients(model, graph, sum_elems(output));
  };
}

void add_losses(Results& results, SoftmaxBuilder& builder) {
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression x = input_at(graph, 1);
  for (unsigned word = 0; word < 7; ++word) {
    results.add("nll" + std::to_string(word), {builder.neg_log_softmax(x, word)});
  }
  // The class-factored builder of DyNet gives another distribution than its losses have.
  if (results.subject() == "softmax") results.add("full", {builder.full_log_distribution(x)});
}

void softmax(Results& results, ParameterCollection& model, const std::function<void()>& load) {
  StandardSoftmaxBuilder builder(4, 7, model);
  load();
  add_losses(results, builder);
}

void class_factored(Results& results, ParameterCollection& model,
                    const std::function<void()>& load) {
  Dict words;
  for (const char* word : {"a", "b", "c", "d", "e", "f", "g"}) words.convert(word);
  ClassFactoredSoftmaxBuilder builder(4, path_of("clusters.txt"), words, model);
  load();
  add_losses(results, builder);
}

/// A parameter and a table, which learn from one of two rows at a time, in five variants: as it is,
/// with clipped gradients, with dense updates, with decay, and restarted.
template <class SomeTrainer, class... Settings>
Compute training(Settings... settings) {
  return [=](Results& results, ParameterCollection&, const auto&) {
    for (unsigned variant = 0; variant < 5; ++variant) {
      ParameterCollection model;
      const Parameter w = model.add_parameters({3}, ParameterInitFromVector({0.5f, 0.1f, 0.4f}));
      const LookupParameter e = model.add_lookup_parameters(
          3, {2}, ParameterInitFromVector({0.3f, 0.2f, 0.6f, 0.1f, 0.2f, 0.9f}));
      SomeTrainer trainer(model, settings...);
      trainer.clipping_enabled = variant == 1;
      trainer.clip_threshold = 0.5f;
      trainer.sparse_updates_enabled = variant != 2;
      if (variant == 3) model.set_weight_decay_lambda(0.1f);
      for (unsigned update = 0; update < 5; ++update) {
        ComputationGraph graph;
        const Expression loss =
            squared_distance(parameter(graph, w), input(graph, {3}, {0.2f, 0.7f, 0.1f})) +
            dot_product(lookup(graph, e, update % 2 == 0 ? 0u : 2u),
                        input(graph, {2}, {0.4f, 0.5f + static_cast<float>(update)}));
        graph.forward(loss);
        graph.backward(loss);
        trainer.update();
        if (variant == 4 && update == 1) trainer.restart();
        ComputationGraph after;
        results.add("variant" + std::to_string(variant) + " update" + std::to_string(update),
                    {parameter(after, w), parameter(after, e)});
      }
    }
  };
}

/// Each test compares the rows of one name.
const std::map<std::string, Compute>& subjects() {
  static const std::map<std::string, Compute> all = {
      {"simple_rnn1", sequences<SimpleRNNBuilder>()},
      {"gru1", sequences<GRUBuilder>()},
      {"vanilla1", sequences<VanillaLSTMBuilder>()},
      {"vanilla_ln1", sequences<VanillaLSTMBuilder>(true)},
      {"vanilla_forget0_1", sequences<VanillaLSTMBuilder>(false, 0.0f)},
      {"compact1", sequences<CompactVanillaLSTMBuilder>()},
      {"coupled1", sequences<CoupledLSTMBuilder>()},
      {"fast1", sequences<FastLSTMBuilder>()},
      {"sparse1", sequences<SparseLSTMBuilder>()},
      {"nary1", trees<NaryTreeLSTMBuilder>(2, 1, 4, 6)},
      {"unitree1", trees<UnidirectionalTreeLSTMBuilder>(1, 4, 4)},
      {"bitree1", trees<BidirectionalTreeLSTMBuilder>(1, 4, 4)},
      {"softmax", softmax},
      {"class_factored", class_factored},
      {"sgd", training<SimpleSGDTrainer>(0.1f)},
      {"momentum", training<MomentumSGDTrainer>(0.01f, 0.9f)},
      {"adagrad", training<AdagradTrainer>(0.1f, 1e-20f)},
      {"adadelta", training<AdadeltaTrainer>(1e-6f, 0.95f)},
      {"rmsprop", training<RMSPropTrainer>(0.1f, 1e-20f, 0.95f)},
      {"adam", training<AdamTrainer>(0.001f, 0.9f, 0.999f, 1e-8f)},
      {"amsgrad", training<AmsgradTrainer>(0.001f, 0.9f, 0.999f, 1e-8f)},
      {"eg", training<EGTrainer>(0.1f, 0.9f, 0.0f)},
      {"cyclical", training<CyclicalSGDTrainer>(0.01f, 0.1f, 2, 0.99f)},
  };
  return all;
}

// ------------------------------------------------------------------------------------------ tests

/// Skipped where the data is not there.
struct GoldenTest : testing::TestWithParam<std::pair<const std::string, Compute>> {
  void SetUp() override {
    if (!fs::exists(folder() / "dynet.tsv")) {
      GTEST_SKIP() << "needs dynet_golden/dynet.tsv in the folder that DYNET_LIKE_DATA names";
    }
  }
};

// From DyNet's model file, and with the same bits from what was loaded and saved.
TEST_P(GoldenTest, ComputesWhatDyNetComputes) {
  const std::string& name = GetParam().first;
  const std::string original = path_of(name + ".model"),
                    saved = testing::TempDir() + "golden_" + name + ".model";
  bool has_model = false;
  const auto rows_with = [&](const std::string& file) {
    ParameterCollection model;
    Results results(name);
    GetParam().second(results, model, [&] {
      has_model = true;
      TextFileLoader(file).populate(model);
      if (file == original) TextFileSaver(saved).save(model);
    });
    return results.rows;
  };
  const Rows rows = rows_with(original);
  Rows expected = read_rows();
  std::erase_if(expected, [&](const Row& row) { return subject_of(row) != name; });
  expect_agreement(rows, expected);
  if (!has_model) return;  // a trainer
  EXPECT_EQ(rows_with(saved), rows);
  fs::remove(saved);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(subjects()),
                         [](const auto& info) { return info.param.first; });

TEST(GoldenRowsTest, EveryRowHasItsTest) {
  if (!fs::exists(folder() / "dynet.tsv")) {
    GTEST_SKIP() << "needs dynet_golden/dynet.tsv in the folder that DYNET_LIKE_DATA names";
  }
  const Rows rows = read_rows();
  EXPECT_EQ(rows.size(), 354u);
  std::set<std::string> names;
  for (const Row& row : rows) {
    EXPECT_TRUE(subjects().contains(subject_of(row))) << row.first;
    EXPECT_TRUE(names.insert(row.first).second) << row.first;
  }
  for (const auto& file : fs::directory_iterator(folder())) {
    if (file.path().extension() != ".model") continue;
    EXPECT_TRUE(subjects().contains(file.path().stem().string())) << file.path();
  }
}

}  // namespace
}  // namespace dynet
