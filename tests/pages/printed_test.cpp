// What pages say that programs print and count: the same programs, run here.
#include <cstdlib>
#include <regex>

#include <fmt/format.h>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like {
namespace {

/// A page, however its lines are broken.
std::string text_of(const std::string& page) {
  return std::regex_replace(source_text(page), std::regex("\\n(?!\\|)"), " ");
}

void expect_on(const std::string& page, const std::string& words) {
  EXPECT_NE(text_of(page).find(words), std::string::npos) << page << " needs: " << words;
}

TEST(PrintedTest, TheMessageOfAProduct) {
  ComputationGraph graph;
  const Expression w = zeros(graph, {3, 4}), x = zeros(graph, {5});
  expect_on("docs/usage.md", "throws: `" + message_of<ShapeError>([&] { w* x; }) + "`.");
}

TEST(PrintedTest, TheReportOfMeans) {
  ParameterCollection model;
  const nn::Embedding embedding(model, 100, 16);
  Minibatch batch;
  for (unsigned n = 5; n <= 36; ++n) {
    batch.add_output(
        average_cols(embedding.columns(batch.new_graph(), std::vector<unsigned>(n, 1))));
  }
  batch.forward();
  std::ostringstream text;
  text << batch.explain();
  const std::string advice = text.str().substr(0, text.str().find("\nop ") + 1);
  EXPECT_TRUE(advice.starts_with("not together: mean_dim")) << text.str();
  expect_on("docs/layers.md", "``` " + std::regex_replace(advice, std::regex("\n"), " ") + "```");
}

/// The cell of docs/recursions.md, for a tree vertex by vertex.
struct TreeLSTM {
  explicit TreeLSTM(ParameterCollection& model) : words(model, 100, 32), output(model, 32, 5) {
    for (const char* gate : {"i", "o", "u", "f"}) {
      gates.push_back(nn::Linear(model, 32, 32, {.name = gate}));
    }
  }
  CellState node(const Expression& x, const std::vector<CellState>& children) const {
    Expression h = children.empty() ? x : children[0].h;
    for (std::size_t k = 1; k < children.size(); ++k) h = h + children[k].h;
    Expression c = cmult(sigmoid(gates[0](h)), tanh(gates[2](h)));
    for (const CellState& child : children) {
      c = c + cmult(sigmoid(gates[3](child.h)), child.c);
    }
    return {cmult(sigmoid(gates[1](h)), tanh(c)), c};
  }

  nn::Embedding words;
  nn::Linear output;
  std::vector<nn::Linear> gates;
};

TEST(PrintedTest, NodesOfTreesVertexByVertex) {
  ParameterCollection model;
  const TreeLSTM network(model);
  Minibatch batch;
  for (std::uint32_t i = 0; i < 16; ++i) {  // ((the cat) sleeps)
    ComputationGraph& graph = batch.new_graph();
    const auto leaf = [&](std::uint32_t word) {
      return network.node(network.words(graph, word), {});
    };
    const CellState the = leaf(i), cat = leaf(i + 1), phrase = network.node({}, {the, cat});
    const CellState root = network.node({}, {phrase, leaf(i + 2)});
    batch.add_loss(cross_entropy(network.output(root.h), 3));
  }
  batch.forward();
  const Report report = batch.explain();
  std::string nodes = std::to_string(report.nodes);
  if (nodes.size() > 3) nodes.insert(nodes.size() - 3, ",");
  expect_on("docs/recursions.md", "Recorded vertex by vertex, the same trees are " + nodes +
                                      " nodes in " + std::to_string(report.batches) + " batches.");
}

TEST(PrintedTest, NodesOfASentenceOfATagger) {
  ParameterCollection model;
  const nn::Embedding embedding(model, 20, 16);
  const nn::BidirectionalLSTM bilstm(model, 16, 16);
  const nn::Linear output(model, 32, 9);
  const char* const numbers[] = {"six", "seven", "eight", "nine", "ten"};
  for (const unsigned n : {2u, 3u, 17u}) {
    Minibatch batch;
    const std::vector<std::uint32_t> words(n, 4), gold(n, 2);
    const Expression states = bilstm(embedding.columns(batch.new_graph(), words));
    batch.add_loss(sum_batches(cross_entropy(output(states), gold)));
    batch.forward();
    const std::uint64_t nodes = batch.explain().nodes;
    ASSERT_TRUE(nodes >= 6 && nodes <= 10) << nodes;
    expect_on("docs/recursions.md", std::string("a sentence of a tagger is ") + numbers[nodes - 6] +
                                        " nodes, however long it is");
  }
}

// The figures of the README are those of the rows that its command measures.
TEST(PrintedTest, RatesOfTreeLSTMs) {
  const std::string page = text_of("bench/peers/README.md");
  // ours, of peak, tree by tree, batched, compiled, by hand, oneDNN, C++, ONNX, JAX, ratio
  const std::string row =
      R"(\n\| tree_lstm/\S*/b64/train\S* +\| +([\d,]+) \S+ +\|[^|]*\| +([\d,]+) \S+ +\|)"
      R"((?:[^|]*\|){7} +([\d.]+) \()";
  const std::size_t end = page.find("AVX-512", page.find("\n| tree_lstm/"));
  const std::string first = page.substr(0, end);
  const auto number = [](std::string text) {
    std::erase(text, ',');
    return std::stod(text);
  };
  std::vector<double> alone, best;
  for (const std::smatch& each : matches(first, row)) {
    alone.push_back(number(each[1]) / number(each[2]));
    best.push_back(number(each[3]));
  }
  ASSERT_EQ(alone.size(), 4u);
  const auto range = [](const std::vector<double>& all, int digits) {
    const auto [low, high] = std::ranges::minmax(all);
    std::ostringstream text;
    text << std::fixed;
    text.precision(digits);
    const auto rounded = [unit = std::pow(10, digits)](double x) {
      return std::floor(x * unit + 0.5 + 1e-9) / unit;
    };
    text << rounded(low) << " to " << rounded(high) << " times as fast as";
    return text.str();
  };
  expect_on("README.md", range(best, 1) + " the fastest PyTorch program");
  expect_on("README.md", range(alone, 0) + " PyTorch tree by tree");
}

// The samples of the program in the README, as one minibatch.
TEST(PrintedTest, TheReadmeCountsTheBatchesOfItsProgram) {
  std::vector<std::vector<unsigned>> data(4000);
  for (unsigned i = 0; i < data.size(); ++i) {
    for (unsigned rest = i * i; rest > 0; rest /= 10) data[i].push_back(rest % 10);
  }
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(10, {16});
  const nn::LSTM lstm(model, 16, 32);
  const nn::Linear output(model, 32, 2);
  Minibatch batch;
  batch.add_losses(data.size(), [&](ComputationGraph& graph, std::size_t i) {
    nn::LSTM::State state = lstm.start(graph);
    for (const unsigned digit : data[i]) state = lstm.step(state, table[digit]);
    return cross_entropy(output(state.h), std::ranges::count(data[i], 7u) > 0);
  });
  batch.forward();
  const Report report = batch.explain();
  expect_on("README.md", fmt::format("{},{:03} nodes in {} batches", report.nodes / 1000,
                                     report.nodes % 1000, report.batches));
}

}  // namespace
}  // namespace dynet_like
