// Classes of texts, from lines "label TAB text".
//
//   text_classifier [--train FILE --dev FILE] [--output FOLDER | --resume FOLDER]
//   text_classifier --apply FOLDER < texts
//
// A word is seen with its two neighbours, and attention decides which of these windows the class
// depends on. Texts of any lengths share batches.
//
// Without files, it learns opinions such as "word3 not good word8 bad": good words count 1, bad
// ones -1, and what is behind "not" the opposite. Is the sum above 0, below, or 0? Expected: at
// least 97 % of 500 more texts, after some seconds.
//
// The sentences of the Stanford Sentiment Treebank that are not neutral, 6,920 to train and 872 for
// dev, become such files by
//
//   for part in train dev; do sed -E '
//     s/^\(([0-4]) /\1\t/; s/\([0-4] //g; s/\)//g
//     /^2/d; s/^[01]/negative/; s/^[34]/positive/' ../shared/data/sst/$part.txt > $part.tsv; done
//
// Expected with --train train.tsv --dev dev.tsv: 78.4 % of the dev sentences, after some seconds.
// There are no word vectors from elsewhere, and labels of parts of sentences are not used.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/data/tab_separated.h"
#include "nn/data/text.h"
#include "nn/nn.h"
#include "nn/train.h"

using namespace dynet_like;

namespace {

constexpr unsigned kSize = 64, kHidden = 128, kHeads = 4;
constexpr float kDropout = 0.4f;
const std::string kEdge = "<edge>", kUnknown = "<unknown>";

std::vector<nn::LabelledText> opinions(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::LabelledText> samples(count);
  for (auto& [label, text] : samples) {
    int sum = 0, sign = 1;
    for (std::uint64_t left = 3 + random.below(12); left > 0; --left) {
      const auto kind = random.below(6);
      if (!text.empty()) text += ' ';
      text += kind == 0   ? "good"
              : kind == 1 ? "bad"
              : kind == 2 ? "not"
                          : "word" + std::to_string(random.below(100));
      sum += kind == 0 ? sign : kind == 1 ? -sign : 0;
      sign = kind == 2 ? -1 : 1;
    }
    label = sum > 0 ? "positive" : sum < 0 ? "negative" : "neutral";
  }
  return samples;
}

struct Vocabularies {
  explicit Vocabularies(const std::vector<nn::LabelledText>& samples) {
    words.set_unknown(kUnknown);
    for (const auto& [label, text] : samples) {
      labels.add(label);
      for (const std::string_view word : nn::split_line(text, nn::TextUnit::word)) words.add(word);
    }
    words = words.trimmed(2);
    words.add(kEdge);
    words.freeze();
    labels.freeze();
  }
  explicit Vocabularies(const nn::SavedModel& saved)
      : words(saved.vocabulary("words")), labels(saved.vocabulary("labels")) {}

  nn::Vocabulary words, labels;
};

struct Text {
  std::vector<std::uint32_t> words;  // at least one, between edges
  std::uint32_t label = 0;

  Text(std::string_view text, const Vocabularies& vocabularies) {
    std::vector<std::string_view> parts = nn::split_line(text, nn::TextUnit::word);
    if (parts.empty()) parts.push_back(kUnknown);
    parts.insert(parts.begin(), kEdge);
    parts.push_back(kEdge);
    for (const std::string_view word : parts) words.push_back(vocabularies.words.id(word));
  }
};

std::vector<Text> encoded(const std::vector<nn::LabelledText>& samples,
                          const Vocabularies& vocabularies) {
  std::vector<Text> texts;
  for (const auto& [label, text] : samples) {
    texts.emplace_back(text, vocabularies).label = vocabularies.labels.id(label);
  }
  return texts;
}

struct Classifier {
  explicit Classifier(const Vocabularies& vocabularies)
      : words(model, vocabularies.words.size(), kSize),
        before(model, kSize, kHidden, false, "before"),
        here(model, kSize, kHidden, true, "here"),
        behind(model, kSize, kHidden, false, "behind"),
        query(model.add_parameters({kHidden}, "query")),
        output(model, kHidden, vocabularies.labels.size()) {}

  // The scores of the classes.
  Expression operator()(ComputationGraph& graph, const Text& text, bool training) const {
    const float rate = training ? kDropout : 0;
    const Expression x = dropout(words.columns(graph, text.words), rate);  // a column per word
    const unsigned end = x.dim().cols();
    const Expression windows =
        rectify(before(pick_range(x, 0, end - 2, 1)) + here(pick_range(x, 1, end - 1, 1)) +
                behind(pick_range(x, 2, end, 1)));
    const Expression mean = attention(parameter(graph, query), windows, windows, kHeads);
    return output(dropout(mean, rate));
  }

  ParameterCollection model{1};
  nn::Embedding words;
  nn::Linear before, here, behind;
  Parameter query;  // which windows matter: every head has its own share of the rows
  nn::Linear output;
};

std::vector<std::uint32_t> best_labels(const Classifier& classifier,
                                       const std::vector<Text>& texts) {
  return nn::predict(
      texts.size(),
      [&](ComputationGraph& graph, std::size_t i) { return classifier(graph, texts[i], false); },
      [](const Tensor& scores) {
        const float* const best = std::max_element(scores.v, scores.v + scores.d.size());
        return static_cast<std::uint32_t>(best - scores.v);
      });
}

int train(const std::vector<nn::LabelledText>& train_samples,
          const std::vector<nn::LabelledText>& dev_samples, nn::TrainingOptions options) {
  const Vocabularies vocabularies(train_samples);
  const std::vector<Text> train = encoded(train_samples, vocabularies);
  const std::vector<Text> dev = encoded(dev_samples, vocabularies);
  Classifier classifier(vocabularies);
  AdamWTrainer trainer(classifier.model);
  options.epochs = 10;
  options.mean_losses = true;
  const std::uint64_t updates = options.epochs * (train.size() / options.batch_size + 1);
  options.schedule = nn::CosineRate{.peak = 0.003f, .updates = updates};
  options.texts = {{"words", vocabularies.words.to_text()},
                   {"labels", vocabularies.labels.to_text()}};
  options.score_name = "accuracy";
  nn::TrainingRun run(classifier.model, trainer, options);
  GraphOptions graph_options;
  graph_options.threads = 2;
  graph_options.random = &run.random();
  Minibatch batch(graph_options);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(train.size())) {
      batch.clear();
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        const Text& text = train[samples[i]];
        return pickneglogsoftmax(classifier(graph, text, true), text.label);
      });
      run.update(batch);
    }
    run.finish_epoch([&] {
      nn::Accuracy accuracy;
      const std::vector<std::uint32_t> found = best_labels(classifier, dev);
      for (std::size_t i = 0; i < dev.size(); ++i) accuracy.add(found[i] == dev[i].label);
      return accuracy.value();
    });
  }
  std::printf("%s\n", run.summary().c_str());
  return run.interrupted() ? 130 : 0;
}

void apply(const std::string& folder) {
  const nn::SavedModel saved(folder);
  const Vocabularies vocabularies(saved);
  const Classifier classifier(vocabularies);
  saved.load(classifier.model);
  for (std::string line; std::getline(std::cin, line);) {
    const std::uint32_t best = best_labels(classifier, {Text(line, vocabularies)}).front();
    std::cout << vocabularies.labels.word(best) << '\t' << line << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> arguments = {
      {"--train", ""}, {"--dev", ""}, {"--output", ""}, {"--resume", ""}, {"--apply", ""}};
  int i = 1;
  for (; i + 1 < argc && arguments.contains(argv[i]); i += 2) arguments[argv[i]] = argv[i + 1];
  const bool real = !arguments["--train"].empty();
  if (i < argc || real == arguments["--dev"].empty()) {
    std::cerr << "usage: see the first lines of text_classifier.cpp\n";
    return 2;
  }
  if (!arguments["--apply"].empty()) {
    apply(arguments["--apply"]);
    return 0;
  }
  nn::TrainingOptions options;
  options.resume = !arguments["--resume"].empty();
  options.output = arguments[options.resume ? "--resume" : "--output"];
  return real ? train(nn::read_labelled_texts(arguments["--train"]),
                      nn::read_labelled_texts(arguments["--dev"]), options)
              : train(opinions(8000, 1), opinions(500, 2), options);
} catch (const std::exception& error) {
  std::cerr << "text_classifier: " << error.what() << '\n';
  return 1;
}
