// The losses and the predictions of all columns.
#include "nn/pipeline/joint_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/pipeline/edit_script.h"
#include "nn/structured/dependency_trees.h"

namespace dynet_like::nn {

namespace {

using Word = ConlluColumns;
constexpr char kRoot[] = "root", kSameWord[] = "<word>";
constexpr std::uint64_t kLeastScripts = 2;

unsigned classes_of(const JointParserVocabularies& v) {
  for (const Vocabulary* each : {&v.upos, &v.xpos, &v.feats, &v.lemmas, &v.labels}) {
    if (each->size() == 0) throw UsageError("[JointParser] need values of every column; got none");
  }
  return v.upos.size() + v.xpos.size() + v.feats.size() + v.lemmas.size();
}

std::vector<std::string> lemma_scripts(const ConlluSentence& sentence) {
  std::vector<std::string> scripts;
  for (const Word& word : sentence.words) scripts.push_back(edit_script(word.form, word.lemma));
  return scripts;
}

}  // namespace

JointParserVocabularies JointParserVocabularies::of(std::span<const ConlluSentence> sentences) {
  JointParserVocabularies v;
  v.lemmas.set_unknown(kSameWord);
  for (const ConlluSentence& sentence : sentences) {
    v.upos.add_all(sentence.column(&Word::upos));
    v.xpos.add_all(sentence.column(&Word::xpos));
    v.feats.add_all(sentence.column(&Word::feats));
    v.labels.add_all(sentence.column(&Word::deprel));
    v.lemmas.add_all(lemma_scripts(sentence));
  }
  v.lemmas = v.lemmas.trimmed(kLeastScripts);
  return v;
}

JointParser::JointParser(ParameterCollection& model, SentenceEncoder encoder,
                         JointParserVocabularies vocabularies, const JointParserOptions& options)
    : own_(add_layer(model, options.name, "joint_parser")),
      encoder_(std::move(encoder)),
      vocabularies_(std::move(vocabularies)),
      arc_size_(options.arcs),
      label_size_(options.labels),
      root_(own_.add_parameters({encoder_.size}, "root")),
      tag_layer_(own_, encoder_.size, options.tags, {.name = "tag_layer"}),
      tags_(own_, options.tags, classes_of(vocabularies_), {.name = "tags"}),
      roles_(own_, encoder_.size, 2 * (arc_size_ + label_size_), {.name = "roles"}),
      arcs_(own_, arc_size_),
      labels_(own_, label_size_, vocabularies_.labels.size()),
      dropout_(options.dropout) {}

JointParser::Scores JointParser::scores(ComputationGraph& graph,
                                        const ConlluSentence& sentence) const {
  const std::vector<std::string> words = sentence.column(&Word::form);
  if (words.empty()) throw UsageError("[JointParser] need at least 1 word; got 0");
  const Expression x = dropout(encoder_.encode(graph, words), dropout_);
  const Expression hidden = dropout(relu(tag_layer_(x)), dropout_);
  const Expression classes = tags_(hidden);
  const Expression roles =
      dropout(relu(roles_(concatenate_cols({parameter(graph, root_), x}))), dropout_);
  unsigned next = 0;
  const auto rows = [&](const Expression& of, unsigned count) {
    next += count;
    return pick_range(of, next - count, next);
  };
  Scores all;
  const auto& v = vocabularies_;
  all.upos = rows(classes, v.upos.size());
  all.xpos = rows(classes, v.xpos.size());
  all.feats = rows(classes, v.feats.size());
  all.lemmas = rows(classes, v.lemmas.size());
  next = 0;
  const auto count = static_cast<unsigned>(words.size()) + 1;
  const Expression arc_heads = rows(roles, arc_size_);
  const Expression arc_dependants = pick_range(rows(roles, arc_size_), 1, count, 1);
  all.label_heads = rows(roles, label_size_);
  all.label_dependants = pick_range(rows(roles, label_size_), 1, count, 1);
  all.arcs = arcs_(arc_heads, arc_dependants);
  return all;
}

Expression JointParser::loss(ComputationGraph& graph, const ConlluSentence& sentence) const {
  const Scores all = scores(graph, sentence);
  const std::vector<std::uint32_t> heads = sentence.heads();
  const auto& v = vocabularies_;
  return sum_batches(
      cross_entropy(all.arcs, heads) +
      cross_entropy(labels_(select_cols(all.label_heads, heads), all.label_dependants),
                    v.labels.ids(sentence.column(&Word::deprel))) +
      cross_entropy(all.upos, v.upos.ids(sentence.column(&Word::upos))) +
      cross_entropy(all.xpos, v.xpos.ids(sentence.column(&Word::xpos))) +
      cross_entropy(all.feats, v.feats.ids(sentence.column(&Word::feats))) +
      cross_entropy(all.lemmas, v.lemmas.ids(lemma_scripts(sentence))));
}

// Values are the scores of upos, xpos, feats and lemmas.
void JointParser::set_tags(ConlluSentence& sentence, std::span<const Tensor> values) const {
  const auto& v = vocabularies_;
  sentence.set_column(&Word::upos, v.upos.words(argmax_of_columns(values[0])));
  sentence.set_column(&Word::xpos, v.xpos.words(argmax_of_columns(values[1])));
  sentence.set_column(&Word::feats, v.feats.words(argmax_of_columns(values[2])));
  const std::vector<unsigned> scripts = argmax_of_columns(values[3]);
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    Word& word = sentence.words[i];
    word.lemma = apply_edit_script(v.lemmas.word(scripts[i]), word.form);
  }
}

void JointParser::set_labels(ConlluSentence& sentence, const Tensor& of_arcs) const {
  const Vocabulary& names = vocabularies_.labels;
  const std::vector<float> scores = as_vector(of_arcs);
  const std::vector<std::uint32_t> heads = sentence.heads();
  const auto root = names.find(kRoot);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (root && heads[i] == 0) {
      sentence.words[i].deprel = kRoot;
      continue;
    }
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(i * names.size());
    std::vector<float> of_word(begin, begin + names.size());
    if (root) of_word[*root] = -std::numeric_limits<float>::infinity();
    const auto best = std::ranges::max_element(of_word) - of_word.begin();
    sentence.words[i].deprel = names.word(static_cast<std::uint32_t>(best));
  }
}

void JointParser::annotate(std::span<ConlluSentence> sentences, const RunSamples& run) const {
  constexpr std::size_t kColumns = 5;
  run(sizes_of(sentences), [&](ComputationGraph& graph, std::span<const std::size_t> some) {
    std::vector<Scores> all;
    std::vector<Expression> columns, of_arcs;
    for (const std::size_t i : some) {
      const Scores& own = all.emplace_back(scores(graph, sentences[i]));
      columns.insert(columns.end(), {own.arcs, own.upos, own.xpos, own.feats, own.lemmas});
    }
    const std::vector<Tensor> values = values_of(columns);
    // Once the heads are known, only labels of their arcs are needed.
    for (std::size_t k = 0; k < some.size(); ++k) {
      const std::span own = std::span(values).subspan(k * kColumns, kColumns);
      const std::vector<std::uint32_t> heads = chu_liu_edmonds(own[0]);
      sentences[some[k]].set_heads(heads);
      set_tags(sentences[some[k]], own.subspan(1));
      of_arcs.push_back(labels_(select_cols(all[k].label_heads, heads), all[k].label_dependants));
    }
    const std::vector<Tensor> labels = values_of(of_arcs);
    for (std::size_t k = 0; k < some.size(); ++k) set_labels(sentences[some[k]], labels[k]);
  });
}

}  // namespace dynet_like::nn
