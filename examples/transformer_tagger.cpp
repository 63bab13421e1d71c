// A Transformer encoder that tags words, such as with their parts of speech.
//
//   transformer_tagger [--data FOLDER] [--output FOLDER [--resume]]
//   transformer_tagger --apply FOLDER < sentences
//
// Without data, it learns a language whose words are nouns behind "the" and verbs behind "to",
// however many words there are between. Expected: at least 99 % of the words of 500 new sentences,
// after some seconds.
//
// With `--data ../shared/data/ud_english_ewt`, or another treebank of Universal Dependencies whose
// files end in "-train.conllu" and "-dev.conllu", it learns UPOS. Expected: ...
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/text.h"
#include "nn/nn.h"
#include "nn/train.h"

using namespace dynet_like;

namespace {

constexpr unsigned kSize = 128, kHidden = 256, kHeads = 4, kLayers = 2, kLongest = 1024;
constexpr float kDropout = 0.3f, kFeatureDropout = 0.1f;
const std::string kEdge = "<edge>";

// ------------------------------------------------------------------------------------- data

struct Data {
  std::vector<nn::TaggedSentence> train, dev;
};

Data treebank(const std::string& folder) {
  Data data;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with("-train.conllu")) data.train = nn::read_conllu_tags(path);
    if (path.ends_with("-dev.conllu")) data.dev = nn::read_conllu_tags(path);
  }
  if (data.train.empty() || data.dev.empty()) {
    throw FileError(folder, "need files *-train.conllu and *-dev.conllu; got none");
  }
  return data;
}

std::vector<nn::TaggedSentence> generated(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::TaggedSentence> sentences(count);
  for (auto& [words, tags] : sentences) {
    bool noun = true;
    for (std::uint64_t left = 4 + random.below(16), i = 0; i < left; ++i) {
      const bool marks = i == 0 || random.below(5) == 0;
      if (marks) noun = random.below(2) == 0;
      words.push_back(marks ? noun ? "the" : "to" : "word" + std::to_string(random.below(50)));
      tags.push_back(marks ? noun ? "DET" : "PART" : noun ? "NOUN" : "VERB");
    }
  }
  return sentences;
}

// What is known of a word: its form, its ends, and what kinds of characters it has.
constexpr std::size_t kFeatures = 9;
std::vector<std::string> features_of(const std::string& word) {
  std::string form, shape;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    form.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
    const bool letter = upper || (c >= 'a' && c <= 'z') || static_cast<signed char>(c) < 0;
    const char kind = upper ? 'X' : letter ? 'x' : digit ? '9' : c;
    if (!shape.ends_with(kind)) shape.push_back(kind);
  }
  std::vector<std::string> features = {"word " + form, "shape " + shape};
  for (const std::size_t size : {1, 2, 3, 4}) {
    features.push_back("ends " + form.substr(form.size() - std::min(size, form.size())));
    if (size < 4) features.push_back("begins " + form.substr(0, size));
  }
  return features;
}

struct Vocabularies {
  nn::Vocabulary features, tags;

  explicit Vocabularies(const std::vector<nn::TaggedSentence>& sentences) {
    for (const nn::TaggedSentence& sentence : sentences) {
      for (const std::string& word : sentence.words) {
        for (const std::string& feature : features_of(word)) features.add(feature);
      }
      for (const std::string& tag : sentence.tags) tags.add(tag);
    }
    features.set_unknown("unknown");
    features = features.trimmed(2);
    features.freeze();
    tags.set_unknown("unknown");  // a tag of the dev samples that training lacks is never right
    tags.freeze();
  }
  explicit Vocabularies(const nn::SavedModel& saved)
      : features(saved.vocabulary("features")), tags(saved.vocabulary("tags")) {}
};

struct Sentence {
  std::vector<std::uint32_t> features, tags;  // kFeatures of every word; a tag of every word

  Sentence(const nn::TaggedSentence& sentence, const Vocabularies& vocabularies) {
    std::vector<std::string> words = {kEdge};
    words.insert(words.end(), sentence.words.begin(), sentence.words.end());
    words.push_back(kEdge);
    for (const std::string& word : words) {
      for (const std::string& feature : features_of(word)) {
        features.push_back(vocabularies.features.id(feature));
      }
    }
    for (const std::string& tag : sentence.tags) tags.push_back(vocabularies.tags.id(tag));
  }
  unsigned words() const { return static_cast<unsigned>(features.size() / kFeatures) - 2; }
};

std::vector<Sentence> encoded(const std::vector<nn::TaggedSentence>& sentences,
                              const Vocabularies& vocabularies) {
  std::vector<Sentence> result;
  for (const nn::TaggedSentence& sentence : sentences) result.emplace_back(sentence, vocabularies);
  return result;
}

// ------------------------------------------------------------------------------------ model

struct Tagger {
  explicit Tagger(const Vocabularies& vocabularies)
      : features(model, vocabularies.features.size(), kSize),
        before(model, kSize, kSize, false, "before"),
        here(model, kSize, kSize, true, "here"),
        behind(model, kSize, kSize, false, "behind"),
        positions(kLongest, kSize),
        encoder(model, kSize, kHidden, kHeads, kLayers, {.dropout = kDropout}),
        output(model, kSize, vocabularies.tags.size()) {}

  // The scores of the tags of every word, as elements of a minibatch: {tags} each.
  Expression operator()(ComputationGraph& graph, const Sentence& sentence, bool training) const {
    const unsigned words = sentence.words();
    const Expression vectors = dropout_batch(features.minibatch(graph, sentence.features), training ? kFeatureDropout : 0);
    const Expression sums = sum_cols(reshape(vectors, Dim({kSize, kFeatures}, words + 2)));
    const Expression all = reshape(sums, Dim({kSize, words + 2}));
    const Expression x = before(pick_range(all, 0, words, 1)) + here(pick_range(all, 1, words + 1, 1)) +
                         behind(pick_range(all, 2, words + 2, 1));
    const Expression scores = output(encoder(dropout(positions(x), training ? kDropout : 0), training));
    return reshape(scores, Dim({scores.dim().rows()}, words));
  }

  ParameterCollection model{1};
  nn::Embedding features;
  nn::Linear before, here, behind;
  nn::SinusoidalPositions positions;
  nn::TransformerEncoder encoder;
  nn::Linear output;
};

// The best tag of every word.
std::vector<std::vector<std::uint32_t>> predict(const Tagger& tagger,
                                                const std::vector<Sentence>& sentences) {
  std::vector<std::uint32_t> sizes;
  for (const Sentence& sentence : sentences) sizes.push_back(sentence.words());
  return nn::predict(
      sentences.size(),
      [&](ComputationGraph& graph, std::size_t i) { return tagger(graph, sentences[i], false); },
      [](const Tensor& scores) {
        const std::size_t tags = scores.d.rows();
        std::vector<std::uint32_t> best;
        for (std::size_t word = 0; word < scores.d.bd; ++word) {
          const std::span of_word(scores.v + word * tags, tags);
          best.push_back(static_cast<std::uint32_t>(
              std::max_element(of_word.begin(), of_word.end()) - of_word.begin()));
        }
        return best;
      },
      {.sizes = sizes});
}

// ------------------------------------------------------------------------------------- runs

int train(const Data& data, bool real, const std::string& output, bool resume) {
  const Vocabularies vocabularies(data.train);
  const auto train = encoded(data.train, vocabularies), dev = encoded(data.dev, vocabularies);
  std::vector<std::uint32_t> sizes;
  for (const Sentence& sentence : train) sizes.push_back(sentence.words());

  Tagger tagger(vocabularies);
  AdamWTrainer trainer(tagger.model);
  nn::TrainingOptions options;
  options.epochs = real ? 12 : 8;
  options.mean_losses = true;
  const std::uint64_t updates = options.epochs * (train.size() / options.batch_size + 1);
  options.schedule = nn::WarmUp{200, nn::CosineRate{.peak = 0.002f, .updates = updates}};
  options.output = output;
  options.resume = resume;
  options.texts = {{"features", vocabularies.features.to_text()},
                   {"tags", vocabularies.tags.to_text()}};
  options.score_name = "accuracy";
  nn::TrainingRun run(tagger.model, trainer, options);
  GraphOptions graph_options;
  graph_options.threads = 2;
  graph_options.random = &run.random();
  Minibatch batch(graph_options);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(sizes)) {
      batch.clear();
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        const Sentence& sentence = train[samples[i]];
        return pickneglogsoftmax(tagger(graph, sentence, true), sentence.tags);
      });
      std::size_t words = 0;
      for (const std::uint32_t sample : samples) words += sizes[sample];
      run.update(batch, words);
    }
    run.finish_epoch([&] {
      nn::Accuracy accuracy;
      const auto found = predict(tagger, dev);
      for (std::size_t i = 0; i < dev.size(); ++i) {
        for (std::size_t word = 0; word < dev[i].words(); ++word) {
          accuracy.add(found[i][word] == dev[i].tags[word]);
        }
      }
      return accuracy.value();
    });
  }
  std::printf("%s\n", run.summary().c_str());
  return run.interrupted() ? 130 : 0;
}

}  // namespace

int main(int argc, char** argv) { return train(argc > 1 ? treebank(argv[1]) : Data{generated(2000, 1), generated(500, 2)}, argc > 1, "", false); }
