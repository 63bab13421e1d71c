// What one sentence says about another: entailment, contradiction, or neither.
//
//   sentence_pairs [--train FILE --dev FILE] [--output FOLDER | --resume FOLDER]
//
// A Tree-LSTM reads both sentences, and a network compares the states of their roots. Files have
// lines "sentence TAB sentence TAB label". Brackets say what belongs together, as in the binary
// parses of SNLI: "( ( all dogs ) ( ( not big ) ( or old ) ) )". What has more than two parts, such
// as a sentence without brackets, is read from left to right.
//
// Without files, sentences like that one are made, and what they say is computed: in which worlds
// are they true? A world has individuals of some kinds, and a kind is a choice of the properties
// "dogs", "big" and "old". A sentence entails another that is true in all worlds in which it is
// true itself, and contradicts one that is true in none of them. Expected: at least 95 % of 1,000
// new pairs, after some seconds.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <set>
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

constexpr unsigned kSize = 32, kHidden = 64;

// ------------------------------------------------------------------------- sentences, worlds

constexpr unsigned kKinds = 8, kWorlds = 1u << kKinds;

// A text and the kinds that it is true of, bit by bit.
struct Phrase {
  std::string text;
  unsigned kinds = 0;
};

Phrase random_phrase(Random& random, unsigned depth) {
  static const std::array<Phrase, 3> words = {{{"dogs", 0xaa}, {"big", 0xcc}, {"old", 0xf0}}};
  if (depth == 0 || random.below(2) == 0) return words[random.below(words.size())];
  const Phrase a = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( not " + a.text + " )", ~a.kinds & (kWorlds - 1)};
  const Phrase b = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( " + a.text + " ( or " + b.text + " ) )", a.kinds | b.kinds};
  return {"( " + a.text + " ( and " + b.text + " ) )", a.kinds & b.kinds};
}

struct Sentence {
  std::string text;
  std::bitset<kWorlds> worlds;  // in which it is true

  explicit Sentence(Random& random) {
    do {
      const Phrase subject = random_phrase(random, 2), predicate = random_phrase(random, 2);
      const auto quantifier = random.below(3);
      const char* const word = quantifier == 0 ? "all" : quantifier == 1 ? "some" : "no";
      text = std::string("( ( ") + word + ' ' + subject.text + " ) " + predicate.text + " )";
      for (unsigned world = 0; world < kWorlds; ++world) {
        const unsigned both = world & subject.kinds & predicate.kinds;
        const unsigned others = world & subject.kinds & ~predicate.kinds;
        worlds[world] = quantifier == 0 ? others == 0 : quantifier == 1 ? both != 0 : both == 0;
      }
    } while (worlds.all() || worlds.none());  // what is always or never true says nothing
  }
};

// Different pairs, as many of each label.
std::vector<nn::TextPair> made_pairs(std::size_t count) {
  const std::array<std::string, 3> labels = {"entailment", "contradiction", "neutral"};
  Random random(1);
  std::set<std::string> made;
  std::vector<nn::TextPair> pairs;
  while (pairs.size() < count) {
    const Sentence a(random), b(random);
    const std::string& label = (a.worlds & ~b.worlds).none()  ? labels[0]
                               : (a.worlds & b.worlds).none() ? labels[1]
                                                              : labels[2];
    if (label != labels[pairs.size() % 3]) continue;
    if (made.insert(a.text + '\t' + b.text).second) pairs.push_back({a.text, b.text, label});
  }
  return pairs;
}

// ------------------------------------------------------------------------------------- data

nn::Tree parsed(std::string_view text) {
  const UsageError error("[sentence_pairs] need words, in brackets that match; got " +
                         quoted_text(text));
  nn::Tree tree;
  std::vector<unsigned> parts = {0};  // of every bracket that is open; two become one at once
  const auto end_part = [&] {
    if (++parts.back() < 2) return;
    tree.add_parent(nn::Tree::kNoLabel, 2);
    parts.back() = 1;
  };
  for (const std::string_view word : nn::split_line(text, nn::TextUnit::word)) {
    if (word == "(") {
      parts.push_back(0);
    } else if (word != ")") {
      tree.add_leaf(nn::Tree::kNoLabel, word);
      end_part();
    } else {
      if (parts.size() == 1 || parts.back() == 0) throw error;
      parts.pop_back();
      end_part();
    }
  }
  if (parts != std::vector<unsigned>{1}) throw error;
  return tree;
}

struct Vocabularies {
  explicit Vocabularies(const std::vector<nn::TextPair>& pairs) {
    words.set_unknown("<unknown>");
    for (const nn::TextPair& pair : pairs) {
      labels.add(pair.label);
      for (const nn::Tree& tree : {parsed(pair.first), parsed(pair.second)}) {
        for (const std::string& word : tree.words()) words.add(word);
      }
    }
    words = words.trimmed(2);
    words.freeze();
    labels.freeze();
  }

  nn::Vocabulary words, labels;
};

struct Pair {
  std::array<nn::Tree, 2> trees;
  std::array<std::vector<std::uint32_t>, 2> words;
  std::uint32_t label;

  Pair(const nn::TextPair& pair, const Vocabularies& vocabularies)
      : trees{parsed(pair.first), parsed(pair.second)}, label(vocabularies.labels.id(pair.label)) {
    for (unsigned i = 0; i < 2; ++i) {
      for (const std::string& word : trees[i].words()) {
        words[i].push_back(vocabularies.words.id(word));
      }
    }
  }
};

std::vector<Pair> encoded(const std::vector<nn::TextPair>& pairs,
                          const Vocabularies& vocabularies) {
  std::vector<Pair> result;
  for (const nn::TextPair& pair : pairs) result.emplace_back(pair, vocabularies);
  return result;
}

// ------------------------------------------------------------------------------------ model

struct Model {
  explicit Model(const Vocabularies& vocabularies)
      : words(parameters, vocabularies.words.size(), kSize),
        reader(parameters, kSize, kHidden),
        output(parameters, 4 * kHidden, {kHidden, vocabularies.labels.size()}) {}

  // The scores of the labels.
  Expression operator()(ComputationGraph& graph, const Pair& pair) const {
    std::array<Expression, 2> roots;
    for (unsigned i = 0; i < 2; ++i) {
      std::vector<Expression> leaves;
      for (const std::uint32_t word : pair.words[i]) leaves.push_back(words(graph, word));
      roots[i] = reader(pair.trees[i], leaves).back().h;
    }
    const auto& [a, b] = roots;
    return output(concatenate({a, b, abs(a - b), cmult(a, b)}));
  }

  ParameterCollection parameters{1};
  nn::Embedding words;
  nn::TreeLSTM reader;
  nn::MLP output;
};

// The share of pairs whose best label is right.
double accuracy(const Model& model, const std::vector<Pair>& pairs) {
  const std::vector<std::vector<float>> scores = nn::predict(
      pairs.size(), [&](ComputationGraph& graph, std::size_t i) { return model(graph, pairs[i]); },
      as_vector);
  nn::Accuracy accuracy;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto best = std::max_element(scores[i].begin(), scores[i].end()) - scores[i].begin();
    accuracy.add(best == pairs[i].label);
  }
  return accuracy.value();
}

int train(const std::vector<nn::TextPair>& train_pairs, const std::vector<nn::TextPair>& dev_pairs,
          nn::TrainingOptions options) {
  const Vocabularies vocabularies(train_pairs);
  const std::vector<Pair> train = encoded(train_pairs, vocabularies);
  const std::vector<Pair> dev = encoded(dev_pairs, vocabularies);
  Model model(vocabularies);
  AdamWTrainer trainer(model.parameters);
  options.epochs = 8;
  options.mean_losses = true;
  const std::uint64_t updates = options.epochs * (train.size() / options.batch_size + 1);
  options.schedule = nn::CosineRate{.peak = 0.003f, .updates = updates};
  options.texts = {{"words", vocabularies.words.to_text()},
                   {"labels", vocabularies.labels.to_text()}};
  options.score_name = "accuracy";
  nn::TrainingRun run(model.parameters, trainer, options);
  GraphOptions graph_options;
  graph_options.threads = 2;
  Minibatch batch(graph_options);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(train.size())) {
      batch.clear();
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
        const Pair& pair = train[samples[i]];
        return pickneglogsoftmax(model(graph, pair), pair.label);
      });
      run.update(batch);
    }
    run.finish_epoch([&] { return accuracy(model, dev); });
  }
  std::printf("%s\n", run.summary().c_str());
  return run.interrupted() ? 130 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> arguments = {
      {"--train", ""}, {"--dev", ""}, {"--output", ""}, {"--resume", ""}};
  int i = 1;
  for (; i + 1 < argc && arguments.contains(argv[i]); i += 2) arguments[argv[i]] = argv[i + 1];
  const bool real = !arguments["--train"].empty();
  if (i < argc || real == arguments["--dev"].empty()) {
    std::cerr << "usage: see the first lines of sentence_pairs.cpp\n";
    return 2;
  }
  nn::TrainingOptions options;
  options.resume = !arguments["--resume"].empty();
  options.output = arguments[options.resume ? "--resume" : "--output"];
  if (!real) {
    const std::vector<nn::TextPair> pairs = made_pairs(31000);
    return train({pairs.begin(), pairs.end() - 1000}, {pairs.end() - 1000, pairs.end()}, options);
  }
  const nn::TextPairColumns columns = {.first = 0, .second = 1, .label = 2};
  return train(nn::read_text_pairs(arguments["--train"], columns),
               nn::read_text_pairs(arguments["--dev"], columns), options);
} catch (const std::exception& error) {
  std::cerr << "sentence_pairs: " << error.what() << '\n';
  return 1;
}
