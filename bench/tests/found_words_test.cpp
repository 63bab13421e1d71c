// The words that are found in the benchmark's models, written op by op.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "batching/dag_builder.h"
#include "batching/find_words.h"
#include "batching/lower_bound.h"
#include "batching/place_words.h"
#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

namespace b = dynet_like::batching;

constexpr unsigned kSamples = 64;
constexpr unsigned kHidden = 12;  ///< neither it nor a few times it is the width of another layer

/// The types of a minibatch's nodes; those that are computed once for all samples are left out.
struct Recorded {
  std::vector<std::uint32_t> types, begin{0};
  std::vector<b::TypeFacts> facts;
  std::vector<std::string> names;
};

Recorded record(const Workload& workload) {
  Minibatch batch;
  for (unsigned i = 0; i < kSamples; ++i) workload.loss(batch.new_graph(), i);
  Recorded recorded;
  b::DagBuilder dag;
  for (unsigned i = 0; i < kSamples; ++i) {
    const Tape& tape = batch.graph(i).tape();
    std::vector<std::uint32_t> node(tape.size()), inputs;
    for (NodeId id = 0; id < tape.size(); ++id) {
      if (tape.value(tape.node(id).value).identity != 0) continue;
      inputs.clear();
      for (const ValueId input : tape.inputs_of(id)) {
        if (tape.value(input).identity == 0) inputs.push_back(node[tape.value(input).node]);
      }
      node[id] = dag.add(tape.node(id).type, inputs);
      recorded.types.push_back(tape.node(id).type);
    }
    recorded.begin.push_back(static_cast<std::uint32_t>(recorded.types.size()));
  }
  const TypeTable& types = batch.graph(0).tape().types();
  const std::vector<std::uint32_t> chains = b::longest_chains(dag.dag());
  std::map<std::string, unsigned> same;
  for (TypeId t = 0; t < chains.size(); ++t) {
    const NodeType& type = types[t];
    const bool costly = type.has_shared_input || type.signature.integers > 0;
    recorded.facts.push_back({chains[t], costly ? 1.0f : 0.1f, type.inputs > 0});
    recorded.names.push_back(std::string(type.op->name) + std::to_string(t) + "/" +
                             std::to_string(chains[t]));
  }
  return recorded;
}

void show(const Recorded& recorded) {
  const b::Words words = b::find_words(recorded.types, recorded.begin, recorded.facts);
  std::vector<unsigned> seen(words.words.size());
  std::size_t tokens = 0;
  std::map<std::string, unsigned> alone;
  for (unsigned s = 0; s < kSamples; ++s) {
    const auto sample = std::span(recorded.types)
                            .subspan(recorded.begin[s], recorded.begin[s + 1] - recorded.begin[s]);
    const auto places = b::place_words(sample, words);
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      if (places[i].first != i) continue;
      ++tokens;
      if (places[i].word != b::Place::alone)
        ++seen[places[i].word];
      else
        ++alone[recorded.names[sample[i]]];
    }
  }
  printf("%zu nodes, %zu tokens\n", recorded.types.size(), tokens);
  for (std::size_t w = 0; w < words.words.size(); ++w) {
    printf("  %5u (%zu)", seen[w], words.words[w].size());
    for (auto t : words.words[w]) printf(" %s", recorded.names[t].c_str());
    printf("\n");
  }
  printf("  loose:");
  for (std::size_t t = 0; t < words.loose.size(); ++t)
    if (words.loose[t] && recorded.facts[t].foldable) printf(" %s", recorded.names[t].c_str());
  printf("\n  alone:");
  int shown = 0;
  for (auto& [name, n] : alone)
    if (n > 20 || ++shown < 6) printf(" %u*%s", n, name.c_str());
  printf("\n");
}

TEST(FoundWords, All) {
  for (const ModelKind& model : all_models()) {
    printf("%s ops: ", model.name);
    show(record(*model.make(kHidden, Form::ops)));
    printf("%s fused: ", model.name);
    show(record(*model.make(kHidden, Form::fused)));
  }
}

}  // namespace
}  // namespace dynet_like::bench
