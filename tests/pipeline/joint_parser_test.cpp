// Labels of trees: "root" for the word below the root, and for no other.
#include "nn/pipeline/joint_parser.h"

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/pipeline/pipeline.h"

namespace dynet_like::nn {
namespace {

/// An encoder that gives every word a vector of its own, whatever it is.
SentenceEncoder random_vectors(const Parameter& vectors) {
  return {8, [vectors](ComputationGraph& graph, std::span<const std::string> words) {
            const Expression all = parameter(graph, vectors);
            return pick_range(all, 0, static_cast<unsigned>(words.size()), 1);
          }};
}

JointParserVocabularies vocabularies(const std::vector<std::string>& labels) {
  JointParserVocabularies v;
  for (Vocabulary* some : {&v.upos, &v.xpos, &v.feats}) some->add("_");
  v.lemmas.set_unknown("<word>");
  for (const std::string& label : labels) v.labels.add(label);
  return v;
}

/// Labels of 20 sentences by parsers that are not trained, and how many words there are.
std::vector<ConlluColumns> annotated(const std::vector<std::string>& labels) {
  std::vector<ConlluColumns> words;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ParameterCollection model(seed);
    const Parameter vectors = model.add_parameters({8, 6}, ParameterInitUniform(-3, 3));
    const JointParser parser(model, random_vectors(vectors), vocabularies(labels),
                             {.tags = 4, .arcs = 8, .labels = 8});
    ConlluSentence sentence;
    sentence.words.assign(6, unknown_columns("a"));
    parser.annotate({&sentence, 1}, run_by_predict(1));
    words.insert(words.end(), sentence.words.begin(), sentence.words.end());
  }
  return words;
}

TEST(JointParserTest, ARareScriptIsThatOfTheWordItself) {
  ConlluSentence sentence;
  for (const auto& [form, lemma] : std::vector<std::pair<std::string, std::string>>{
           {"dogs", "dog"}, {"cats", "cat"}, {"went", "go"}, {"a", "a"}}) {
    sentence.words.push_back(unknown_columns(form));
    sentence.words.back().lemma = lemma;
  }
  const auto v = JointParserVocabularies::of({&sentence, 1});
  EXPECT_EQ(v.lemmas.size(), 2u);
  EXPECT_EQ(v.lemmas.word(*v.lemmas.unknown()), "<word>");
  EXPECT_EQ(v.lemmas.count(*v.lemmas.unknown()), 2u);
}

TEST(JointParserTest, OnlyTheWordBelowTheRootHasTheLabelRoot) {
  for (const std::vector<std::string>& labels :
       std::vector<std::vector<std::string>>{{"root", "dep"}, {"obj", "root"}}) {
    unsigned roots = 0;
    for (const ConlluColumns& word : annotated(labels)) {
      EXPECT_EQ(word.deprel == "root", word.head == 0);
      roots += word.head == 0 ? 1 : 0;
    }
    EXPECT_EQ(roots, 20u);
  }
}

TEST(JointParserTest, WithoutALabelRootAnyLabelIsAllowed) {
  std::size_t with_first = 0, all = 0;
  for (const ConlluColumns& word : annotated({"a", "b"})) {
    with_first += word.deprel == "a" ? 1 : 0;
    ++all;
  }
  EXPECT_GT(with_first, all / 10);
  EXPECT_LT(with_first, all - all / 10);
}

}  // namespace
}  // namespace dynet_like::nn
