// The words that are found in programs written op by op: the models of the benchmarks, and others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "batching/dag_builder.h"
#include "batching/find_words.h"
#include "batching/lower_bound.h"
#include "batching/place_words.h"
#include "bench/models/models.h"
#include "bench/tests/recorded_programs.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::bench {
namespace {

using namespace detail;
using batching::DagBuilder;
using batching::Place;
using batching::Words;

constexpr unsigned kSamples = 64;

/// The nodes of a minibatch, all samples one after another, without those that are computed once
/// for all samples.
struct Recorded {
  std::vector<std::uint32_t> begin{0};
  DagBuilder nodes;
  std::vector<batching::TypeFacts> facts;
  std::vector<std::string> ops;  ///< per type

  std::span<const std::uint32_t> types() const { return nodes.dag().type; }
};

Recorded record(const RecordSample& record_sample) {
  Minibatch batch;
  for (unsigned i = 0; i < kSamples; ++i) record_sample(batch.new_graph(), i);
  Recorded recorded;
  for (unsigned i = 0; i < kSamples; ++i) {
    const Tape& tape = batch.graph(i).tape();
    std::vector<std::uint32_t> place(tape.size()), inputs;
    for (NodeId id = 0; id < tape.size(); ++id) {
      if (tape.value(tape.node(id).value).identity != 0) continue;
      inputs.clear();
      for (const ValueId input : tape.inputs_of(id)) {
        if (tape.value(input).identity == 0) inputs.push_back(place[tape.value(input).node]);
      }
      place[id] = recorded.nodes.add(tape.node(id).type, inputs);
    }
    recorded.begin.push_back(static_cast<std::uint32_t>(recorded.types().size()));
  }
  const TypeTable& types = batch.graph(0).tape().types();
  for (const std::uint32_t chain : batching::longest_chains(recorded.nodes.dag())) {
    const NodeType& type = types[static_cast<TypeId>(recorded.facts.size())];
    const bool is_costly = type.has_shared_input || type.signature.integers > 0;
    recorded.facts.push_back({chain, is_costly ? 1.0f : 0.1f, true});
    recorded.ops.emplace_back(type.op->name);
  }
  return recorded;
}

/// "3 add, 2 tanh": the order in which a compiler evaluates arguments does not show.
std::string bag(const std::vector<std::string>& ops) {
  std::map<std::string, unsigned> counts;
  for (const std::string& op : ops) ++counts[op];
  std::ostringstream text;
  for (const auto& [op, count] : counts) {
    text << (text.view().empty() ? "" : ", ") << count << ' ' << op;
  }
  return text.str();
}

struct Result {
  std::vector<std::string> words;  ///< "8 times: 3 add, 2 tanh", as find_words sorts them
  std::string loose;
  double nodes_left = 0;  ///< with every occurrence as one node, as a share of the nodes
  double costly_calls =
      0;                   ///< at least, of types that cost much, as a share of those without words
  bool is_acyclic = true;  ///< with every occurrence as one node
};

class Folding {
 public:
  explicit Folding(const Recorded& recorded)
      : recorded_(recorded),
        words_(batching::find_words(recorded.types(), recorded.begin, recorded.facts)) {
    const batching::WordPlacer placer(words_);
    for (unsigned s = 0; s < kSamples; ++s) {
      const std::uint32_t begin = recorded.begin[s], end = recorded.begin[s + 1];
      for (Place place : placer.place(recorded.types().subspan(begin, end - begin))) {
        place.first += begin;
        places_.push_back(place);
      }
    }
  }

  Result result() const {
    Result result;
    std::vector<unsigned> times(words_.words.size());
    double left = 0;
    for (std::uint32_t v = 0; v < places_.size(); ++v) {
      if (places_[v].first != v) continue;
      ++left;
      if (places_[v].word != Place::alone) ++times[places_[v].word];
    }
    for (std::size_t w = 0; w < times.size(); ++w) {
      result.words.push_back(std::to_string(times[w]) + " times: " + bag(ops(words_.words[w])));
    }
    std::vector<std::uint32_t> loose;
    for (std::uint32_t t = 0; t < words_.loose.size(); ++t) {
      if (words_.loose[t] != 0) loose.push_back(t);
    }
    result.loose = bag(ops(loose));
    result.nodes_left = left / static_cast<double>(places_.size());
    const DagBuilder folded = fold();
    result.is_acyclic = static_cast<double>(folded.dag().size()) == left;
    result.costly_calls = costly_calls(folded) / costly_calls(recorded_.nodes);
    return result;
  }

 private:
  std::vector<std::string> ops(const std::vector<std::uint32_t>& types) const {
    std::vector<std::string> result;
    for (const std::uint32_t type : types) result.push_back(recorded_.ops[type]);
    return result;
  }

  /// Occurrences as nodes, whose types are behind those of nodes; those on a cycle, and what needs
  /// them, are missing.
  DagBuilder fold() const {
    const batching::Dag dag = recorded_.nodes.dag();
    std::map<std::uint32_t, std::set<std::uint32_t>> inputs;
    std::map<std::uint32_t, std::vector<std::uint32_t>> consumers;
    for (std::uint32_t v = 0; v < dag.size(); ++v) {
      std::set<std::uint32_t>& own = inputs[places_[v].first];
      for (const std::uint32_t u : dag.inputs_of(v)) {
        if (places_[u].first == places_[v].first) continue;
        if (own.insert(places_[u].first).second)
          consumers[places_[u].first].push_back(places_[v].first);
      }
    }
    std::map<std::uint32_t, std::size_t> waits;
    std::vector<std::uint32_t> ready;
    for (const auto& [v, own] : inputs) {
      if ((waits[v] = own.size()) == 0) ready.push_back(v);
    }
    DagBuilder folded;
    std::map<std::uint32_t, std::uint32_t> place;
    while (!ready.empty()) {
      const std::uint32_t v = ready.back();
      ready.pop_back();
      std::vector<std::uint32_t> from;
      for (const std::uint32_t u : inputs[v]) from.push_back(place[u]);
      const auto types = static_cast<std::uint32_t>(recorded_.facts.size());
      const std::uint32_t word = places_[v].word;
      place[v] = folded.add(word == Place::alone ? dag.type[v] : types + word, from);
      for (const std::uint32_t consumer : consumers[v]) {
        if (--waits[consumer] == 0) ready.push_back(consumer);
      }
    }
    return folded;
  }

  double costly_calls(const DagBuilder& nodes) const {
    const std::vector<std::uint32_t> chains = batching::longest_chains(nodes.dag());
    double calls = 0;
    for (std::size_t t = 0; t < chains.size(); ++t) {
      std::set<std::uint32_t> types{static_cast<std::uint32_t>(t)};
      if (t >= recorded_.facts.size()) {
        const auto& word = words_.words[t - recorded_.facts.size()];
        types = {word.begin(), word.end()};
      }
      calls += chains[t] * static_cast<double>(
                               std::count_if(types.begin(), types.end(), [&](std::uint32_t type) {
                                 return recorded_.facts[type].call_cost == 1;
                               }));
    }
    return calls;
  }

  const Recorded& recorded_;
  Words words_;
  std::vector<Place> places_;
};

Result find(const RecordSample& record_sample) {
  const Recorded recorded = record(record_sample);
  const Result result = Folding(recorded).result();
  EXPECT_TRUE(result.is_acyclic);
  EXPECT_LE(result.costly_calls, 1.25);
  return result;
}

Result find(const char* model) {
  const auto workload = make_model(model, kProgramHidden, Form::ops);
  return find([&](ComputationGraph& graph, unsigned i) { workload->loss(graph, i); });
}

using Texts = std::vector<std::string>;

// The words of programs for trees: an inner node, a leaf, an output layer.
constexpr const char* kTreeOutput = "2238 times: 1 affine_transform, 1 pickneglogsoftmax";

TEST(FoundWords, TreeLSTM) {
  const Result result = find("tree_lstm");
  EXPECT_EQ(result.words,
            (Texts{"1087 times: 2 add, 5 affine_transform, 4 cmult, 4 logistic, 2 tanh",
                   "1151 times: 3 affine_transform, 2 cmult, 2 logistic, 1 lookup, 2 tanh",
                   kTreeOutput}));
  EXPECT_EQ(result.loose, "1 affine_transform, 1 pickneglogsoftmax");
  EXPECT_LT(result.nodes_left, 0.15);
  EXPECT_EQ(result.costly_calls, 1);
}

// Chains of a forget gate for left children go along left children only: it has some more batches.
TEST(FoundWords, TreeLSTMWithAForgetGatePerChild) {
  Result result = find(OwnForgets(true, false));
  EXPECT_EQ(
      result.words,
      (Texts{"1087 times: 2 add, 5 affine_transform, 4 cmult, 1 concatenate, 4 logistic, 2 tanh",
             "1151 times: 3 affine_transform, 2 cmult, 2 logistic, 1 lookup, 2 tanh",
             kTreeOutput}));
  EXPECT_LT(result.nodes_left, 0.15);
  result = find(OwnForgets(false, false));
  EXPECT_EQ(
      result.words,
      (Texts{"1087 times: 7 add, 4 cmult, 1 concatenate, 4 logistic, 5 matrix_product, 2 tanh",
             "1151 times: 3 add, 2 cmult, 2 logistic, 1 lookup, 3 matrix_product, 2 tanh",
             kTreeOutput}));
  EXPECT_LT(result.nodes_left, 0.12);
}

// The same gate twice, one after the other.
TEST(FoundWords, TreeLSTMWithOneForgetGateForBothChildren) {
  for (const bool affine : {false, true}) {
    const Result result = find(OwnForgets(affine, true));
    EXPECT_EQ(result.words, find(OwnForgets(affine, false)).words);
    EXPECT_EQ(result.costly_calls, 1);
  }
}

TEST(FoundWords, TreeGRU) {
  EXPECT_EQ(find("tree_gru").words,
            (Texts{"1151 times: 2 add, 3 affine_transform, 3 cmult, 2 logistic, 1 lookup, 1 "
                   "scalar_subtract, 1 tanh",
                   "1087 times: 2 add, 3 affine_transform, 3 cmult, 2 logistic, 1 "
                   "scalar_subtract, 1 tanh",
                   kTreeOutput}));
}

constexpr const char* kLSTMStep = ": 1 add, 4 affine_transform, 3 cmult, 3 logistic, 2 tanh";

// Lookups are one batch, and so are the concatenations behind the steps of one direction.
TEST(FoundWords, Taggers) {
  const std::string step = std::string("1545 times") + kLSTMStep;
  const char* const output = "1545 times: 2 affine_transform, 1 pickneglogsoftmax, 1 tanh";
  Result result = find("tagger");
  EXPECT_EQ(result.words, (Texts{step, step, output}));
  EXPECT_EQ(result.loose, "1 concatenate");
  EXPECT_LT(result.nodes_left, 0.17);
  EXPECT_EQ(result.costly_calls, 1);
  // Of characters, both directions are read in one loop.
  result = find("char_tagger");
  EXPECT_EQ(result.words,
            (Texts{"2570 times: 2 add, 8 affine_transform, 6 cmult, 6 logistic, 4 tanh", step, step,
                   output}));
  EXPECT_LT(result.nodes_left, 0.12);
  EXPECT_EQ(result.costly_calls, 1);
}

TEST(FoundWords, LanguageModel) {
  const Result result = find("language_model");
  EXPECT_EQ(result.words, (Texts{std::string("1572 times") + kLSTMStep,
                                 "1572 times: 1 affine_transform, 1 pickneglogsoftmax"}));
  EXPECT_EQ(result.loose, "1 affine_transform, 1 lookup, 1 pickneglogsoftmax");
  EXPECT_EQ(result.costly_calls, 1);
}

// The product with x in the middle of a step depends on no step before, and stays one batch.
TEST(FoundWords, GRU) {
  const Result result = find(GRUClassifier());
  EXPECT_EQ(result.words, (Texts{"1481 times: 2 add, 3 affine_transform, 3 cmult, 2 logistic, 1 "
                                 "scalar_subtract, 1 tanh",
                                 // The first: its product with h is the same for all sentences.
                                 "64 times: 2 add, 2 affine_transform, 3 cmult, 2 logistic, 1 "
                                 "scalar_subtract, 1 tanh",
                                 "64 times: 1 affine_transform, 1 pickneglogsoftmax"}));
  EXPECT_EQ(result.loose, "1 affine_transform, 1 lookup");
  EXPECT_EQ(result.costly_calls, 1);
}

TEST(FoundWords, FirstStepWithoutState) {
  const Result result = find(ShortFirstStep());
  EXPECT_EQ(result.words,
            (Texts{"1481 times: 1 add, 3 affine_transform, 3 cmult, 3 concatenate, 2 logistic, 1 "
                   "scalar_subtract, 2 tanh",
                   "1545 times: 1 affine_transform, 1 pickneglogsoftmax",
                   "64 times: 3 affine_transform, 2 cmult, 2 logistic, 2 tanh"}));
  EXPECT_EQ(result.costly_calls, 1);
}

// Shapes differ with the sentence's length in attention, so it divides the writer's step; it is a
// word itself for every length that was seen often enough.
TEST(FoundWords, Attention) {
  const Result result = find(Attention());
  ASSERT_GT(result.words.size(), 3u);
  EXPECT_EQ(Texts(result.words.begin(), result.words.begin() + 3),
            (Texts{"1545 times: 1 add, 5 affine_transform, 3 cmult, 1 concatenate, 3 logistic, 2 "
                   "tanh",
                   std::string("1545 times") + kLSTMStep,
                   "1545 times: 2 affine_transform, 1 concatenate, 1 pickneglogsoftmax, 1 tanh"}));
  for (std::size_t i = 3; i < result.words.size(); ++i) {
    EXPECT_TRUE(result.words[i].ends_with(" times: 2 matrix_product, 1 softmax"));
  }
  EXPECT_EQ(result.costly_calls, 1);
}

TEST(FoundWords, Lattices) {
  const Result result = find("lattice_lstm");
  EXPECT_EQ(result.words, (Texts{std::string("3128 times") + kLSTMStep,
                                 "762 times: 4 cmult, 1 concatenate, 1 softmax, 2 sum",
                                 "225 times: 6 cmult, 1 concatenate, 1 softmax, 2 sum",
                                 "1847 times: 1 affine_transform, 1 pickneglogsoftmax",
                                 "23 times: 8 cmult, 1 concatenate, 1 softmax, 2 sum"}));
  EXPECT_EQ(result.costly_calls, 1);
}

TEST(FoundWords, RandomNetworks) {
  const Result result = find("random_dag");
  EXPECT_EQ(result.words,
            (Texts{"581 times: 2 add, 4 affine_transform, 3 cmult, 2 logistic, 1 "
                   "scalar_subtract, 1 tanh",
                   "507 times: 1 add, 1 affine_transform, 2 cmult, 1 logistic, 1 scalar_subtract",
                   "853 times: 1 affine_transform, 1 lookup, 1 tanh",
                   "689 times: 1 affine_transform, 1 pickneglogsoftmax",
                   "532 times: 1 affine_transform, 1 tanh"}));
}

}  // namespace
}  // namespace dynet_like::bench
