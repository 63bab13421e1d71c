// A Transformer encoder that tags words, such as with their parts of speech.
//
//   transformer_tagger [--data FOLDER] [--output FOLDER | --resume FOLDER]
//   transformer_tagger --apply FOLDER < sentences
//
// A word is the sum of vectors: of its form, its ends, and the kinds of its characters. The encoder
// gets it with its two neighbours. Sentences of any lengths share batches.
//
// Without data, it learns a language whose words are nouns behind "the" and verbs behind "to",
// however many words are between. Expected: at least 99 % of the words of 500 new sentences, after
// half a minute.
//
// With `--data ../shared/data/ud_english_ewt`, or another treebank of Universal Dependencies whose
// files end in "-train.conllu" and "-dev.conllu", it learns UPOS. Expected: 94.6 % of the dev
// words, after six minutes on two cores that have other work, too.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
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

constexpr unsigned kSize = 160, kHidden = 320, kHeads = 4, kLayers = 2, kLongest = 1024;
constexpr float kDropout = 0.3f, kFeatureDropout = 0.25f;

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

// What is known of a word: its form, how it begins and ends, and the kinds of its characters.
constexpr std::size_t kFeatures = 9;
std::vector<std::string> features_of(const std::string& word) {
  std::string form, shape;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    const bool lower = (c >= 'a' && c <= 'z') || static_cast<signed char>(c) < 0;
    form.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
    const char kind = upper ? 'X' : lower ? 'x' : digit ? '9' : c;
    if (!shape.ends_with(kind)) shape.push_back(kind);
  }
  std::vector<std::string> features = {"form " + form, "shape " + shape};
  for (const std::size_t size : {1, 2, 3, 4}) {
    if (size < 4) features.push_back("begin " + form.substr(0, size));
    features.push_back("end " + form.substr(form.size() - std::min(size, form.size())));
  }
  return features;
}

// An empty word before the first and behind the last.
std::vector<std::string> with_ends(std::vector<std::string> words) {
  words.insert(words.begin(), "");
  words.emplace_back();
  return words;
}

struct Vocabularies {
  nn::Vocabulary features, tags;

  explicit Vocabularies(const std::vector<nn::TaggedSentence>& sentences) {
    for (const nn::TaggedSentence& sentence : sentences) {
      for (const std::string& word : with_ends(sentence.words)) {
        for (const std::string& feature : features_of(word)) features.add(feature);
      }
      for (const std::string& tag : sentence.tags) tags.add(tag);
    }
    features.set_unknown("unknown");
    features = features.trimmed(2);
    features.freeze();
    tags.set_unknown("unknown");  // a tag that training lacks
    tags.freeze();
  }
  explicit Vocabularies(const nn::SavedModel& saved)
      : features(saved.vocabulary("features")), tags(saved.vocabulary("tags")) {}
};

struct Sentence {
  std::vector<std::uint32_t> features, tags;  // the features of both ends, too

  Sentence(const std::vector<std::string>& words, const nn::Vocabulary& vocabulary) {
    for (const std::string& word : with_ends(words)) {
      for (const std::string& feature : features_of(word)) {
        features.push_back(vocabulary.id(feature));
      }
    }
  }
  unsigned words() const { return static_cast<unsigned>(features.size() / kFeatures) - 2; }
};

std::vector<Sentence> encoded(const std::vector<nn::TaggedSentence>& sentences,
                              const Vocabularies& vocabularies) {
  std::vector<Sentence> result;
  for (const auto& [words, tags] : sentences) {
    Sentence& sentence = result.emplace_back(words, vocabularies.features);
    for (const std::string& tag : tags) sentence.tags.push_back(vocabularies.tags.id(tag));
  }
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
    const Expression vectors =
        dropout_batch(features.minibatch(graph, sentence.features), training ? kFeatureDropout : 0);
    const Expression sums = sum_cols(reshape(vectors, Dim({kSize, kFeatures}, words + 2)));
    const Expression all = reshape(sums, Dim({kSize, words + 2}));
    const Expression x = before(pick_range(all, 0, words, 1)) +
                         here(pick_range(all, 1, words + 1, 1)) +
                         behind(pick_range(all, 2, words + 2, 1));
    const Expression placed = dropout(positions(x), training ? kDropout : 0);
    const Expression scores = output(encoder(placed, training));
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

int train(const Data& data, nn::TrainingOptions options) {
  const Vocabularies vocabularies(data.train);
  const auto train = encoded(data.train, vocabularies), dev = encoded(data.dev, vocabularies);
  std::vector<std::uint32_t> sizes;
  for (const Sentence& sentence : train) sizes.push_back(sentence.words());

  Tagger tagger(vocabularies);
  AdamWTrainer trainer(tagger.model);
  trainer.exponential_moving_average(0.999f);
  options.epochs = 16;
  options.mean_losses = true;
  const std::uint64_t updates = options.epochs * (train.size() / options.batch_size + 1);
  options.schedule = nn::WarmUp{200, nn::CosineRate{.peak = 0.0015f, .updates = updates}};
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

// A word and its tag per line, and a blank line behind every sentence.
void apply(const std::string& folder) {
  const nn::SavedModel saved(folder);
  const Vocabularies vocabularies(saved);
  const Tagger tagger(vocabularies);
  saved.load(tagger.model);
  for (std::string line; std::getline(std::cin, line); std::cout << '\n') {
    const auto parts = nn::split_line(line, nn::TextUnit::word);
    if (parts.empty()) continue;
    const std::vector<std::string> words(parts.begin(), parts.end());
    const auto tags = predict(tagger, {Sentence(words, vocabularies.features)}).front();
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::cout << words[i] << '\t' << vocabularies.tags.word(tags[i]) << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> arguments = {
      {"--data", ""}, {"--output", ""}, {"--resume", ""}, {"--apply", ""}};
  int i = 1;
  for (; i + 1 < argc && arguments.contains(argv[i]); i += 2) arguments[argv[i]] = argv[i + 1];
  if (i < argc) {
    std::cerr << "usage: see the first lines of transformer_tagger.cpp\n";
    return 2;
  }
  if (!arguments["--apply"].empty()) {
    apply(arguments["--apply"]);
    return 0;
  }
  nn::TrainingOptions options;
  options.resume = !arguments["--resume"].empty();
  options.output = arguments[options.resume ? "--resume" : "--output"];
  const std::string& folder = arguments["--data"];
  return train(folder.empty() ? Data{generated(2000, 1), generated(500, 2)} : treebank(folder),
               options);
} catch (const std::exception& error) {
  std::cerr << "transformer_tagger: " << error.what() << '\n';
  return 1;
}
