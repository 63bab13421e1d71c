// Parts of the language model example: streams, evaluation, training and resuming, sampling, lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "examples/full/language_model/grammar.h"
#include "examples/full/language_model/sampling.h"
#include "examples/full/language_model/streams.h"
#include "examples/full/language_model/task.h"
#include "nn/train.h"

namespace dynet_like::examples {
namespace {

using Units = std::vector<std::uint32_t>;

/// A new folder, which is removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Units numbers_below(std::uint32_t below, std::size_t count) {
  Random random(9);
  Units units(count);
  for (std::uint32_t& unit : units) unit = random.below(below);
  return units;
}

LanguageModel small_model(ParameterCollection& parameters, unsigned units, float dropout = 0) {
  return {parameters,
          {.units = units, .embedding = 4, .hidden = 6, .layers = 2, .dropout = dropout}};
}

// ------------------------------------------------------------------------------------- streams

TEST(LanguageModelTest, EveryUnitButTheFirstIsPredictedOnce) {
  for (const std::size_t size : {2u, 3u, 7u, 40u, 101u}) {
    for (const unsigned count : {1u, 2u, 3u, 64u}) {
      for (const unsigned length : {2u, 3u, 8u}) {
        Units units(size);
        std::iota(units.begin(), units.end(), 0u);
        const Streams streams(units, count, length);
        Units predicted;
        for (unsigned stream = 0; stream < streams.count(); ++stream) {
          for (std::size_t piece = 0; piece < streams.pieces(); ++piece) {
            const auto part = streams.piece(stream, piece);
            ASSERT_GE(part.size(), 2u);
            ASSERT_LE(part.size(), length + 1);
            predicted.insert(predicted.end(), part.begin() + 1, part.end());
          }
        }
        ASSERT_EQ(predicted, Units(units.begin() + 1, units.end()));
        std::size_t predictions = 0;
        const nn::Minibatches minibatches = streams.minibatches();
        ASSERT_EQ(minibatches.size(), streams.pieces());
        for (std::size_t p = 0; p < streams.pieces(); ++p) {
          predictions += streams.predictions(p, minibatches[p]);
        }
        EXPECT_EQ(predictions, streams.predictions());
      }
    }
  }
}

TEST(LanguageModelTest, StreamsNeedSomethingToPredict) {
  const Units units{1, 2, 3};
  EXPECT_THROW(Streams(std::span(units).first(1), 1, 2), UsageError);
  EXPECT_THROW(Streams(units, 0, 2), UsageError);
  EXPECT_THROW(Streams(units, 1, 1), UsageError);
}

// ---------------------------------------------------------------------------------- evaluation

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The model again, as plain loops over the numbers of its parameters.
class PlainModel {
 public:
  PlainModel(const ParameterCollection& parameters, std::size_t layers, std::size_t hidden)
      : parameters_(parameters), h_(layers, Numbers(hidden)), c_(h_) {}

  /// The nats of `next` after one more unit.
  double nats(std::uint32_t unit, std::uint32_t next) {
    const Numbers table = numbers("/embedding/E");
    const auto row = table.begin() + static_cast<std::ptrdiff_t>(unit * 4);
    Numbers x(row, row + 4);
    for (std::size_t layer = 0; layer < h_.size(); ++layer) x = step(layer, x);
    Numbers scores = numbers("/output/b");
    add_product(scores, "/output/W", x);
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    return std::log(sum) - scores[next];
  }

 private:
  using Numbers = std::vector<double>;

  Numbers numbers(const std::string& name) const {
    return as_doubles(parameters_.find(name)->tensor());
  }
  void add_product(Numbers& y, const std::string& name, const Numbers& x) const {
    const Numbers w = numbers(name);
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[j * y.size() + i] * x[j];
    }
  }
  Numbers step(std::size_t layer, const Numbers& x) {
    const std::string name = "/lstm/layer_" + std::to_string(layer);
    Numbers &h = h_[layer], &c = c_[layer], a = numbers(name + "/b");
    add_product(a, name + "/W", x);
    add_product(a, name + "/U", h);
    const std::size_t n = h.size();
    for (std::size_t e = 0; e < n; ++e) {
      c[e] = sigmoid(a[e]) * c[e] + sigmoid(a[n + e]) * std::tanh(a[3 * n + e]);
      h[e] = sigmoid(a[2 * n + e]) * std::tanh(c[e]);
    }
    return h;
  }

  const ParameterCollection& parameters_;
  std::vector<Numbers> h_, c_;
};

double plain_nats(const ParameterCollection& parameters, std::span<const std::uint32_t> units) {
  PlainModel plain(parameters, 2, 6);
  double nats = 0;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) nats += plain.nats(units[i], units[i + 1]);
  return nats;
}

TEST(LanguageModelTest, EvaluationIsThePlainComputation) {
  ParameterCollection parameters(4);
  const LanguageModel model = small_model(parameters, 5);
  const Units units = numbers_below(5, 701);  // several pieces
  EXPECT_NEAR(total_nats(model, units, 1, 1), plain_nats(parameters, units), 1e-2);
  EXPECT_NE(total_nats(model, units, 1, 1), total_nats(model, units, 2, 1));
  // Streams of 350 predictions each: the second begins with zeros, at unit 350.
  const auto all = std::span<const std::uint32_t>(units);
  EXPECT_NEAR(total_nats(model, units, 2, 1),
              plain_nats(parameters, all.first(351)) + plain_nats(parameters, all.subspan(350)),
              1e-2);
  EXPECT_EQ(total_nats(model, units, 4, 1), total_nats(model, units, 4, 3));
}

TEST(LanguageModelTest, TextsTogetherAreTextsAlone) {
  ParameterCollection parameters(4);
  const LanguageModel model = small_model(parameters, 5);
  const Units all = numbers_below(5, 72);
  std::vector<Units> texts;
  auto begin = all.begin();
  for (const int size : {9, 2, 30, 9, 5, 17}) {
    texts.emplace_back(begin, begin + size);
    begin += size;
  }
  const auto nats = [&](std::span<const Units> some, std::size_t batch_size, unsigned threads) {
    GraphOptions options;
    options.threads = threads;
    const auto nats_of = [&](ComputationGraph& graph, const Units& text) {
      return as_scalar(model.read(graph, model.start(graph), text).loss.value());
    };
    return nn::predict(some, nats_of, {.batch_size = batch_size, .graph = options});
  };
  const std::vector<float> together = nats(texts, texts.size(), 2);
  EXPECT_EQ(nats(texts, 1, 1), together);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(nats(std::span(texts).subspan(i, 1), 1, 1).front(), together[i]);
    EXPECT_NEAR(together[i], plain_nats(parameters, texts[i]), 1e-4);
  }
}

// ---------------------------------------------------------------------------- the text, a grammar

TEST(LanguageModelTest, TheLastTenthIsHeldOut) {
  std::istringstream stream("abababababababab\nbc c\n");  // 22 characters
  const nn::Text text = nn::read_text(stream, "text", nn::TextUnit::character);
  const Task task = make_task(text, "text", nn::TextUnit::character, 1);
  EXPECT_EQ(task.train().size(), 19u);
  EXPECT_EQ(task.held_out_size(), 3u);
  EXPECT_EQ(task.encoding.text(task.train()), "abababababababab\nbc");
  EXPECT_EQ(task.encoding.text(task.held_out()), "c<unk>c\n");  // no space before
  EXPECT_EQ(task.train_characters, 19u);
  EXPECT_EQ(task.held_out_characters, 3u);
}

TEST(LanguageModelTest, RareWordsAreUnknownButTheirCharactersCount) {
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += "to be or\n";
  std::istringstream stream(lines + "not to be\n");
  const nn::Text text = nn::read_text(stream, "text", nn::TextUnit::word);
  const Task task = make_task(text, "text", nn::TextUnit::word, 2);
  EXPECT_EQ(task.encoding.vocabulary.size(), 5u);  // to, be, or, the end of a line, unknown
  EXPECT_EQ(task.train_characters + task.held_out_characters, 100u);
  EXPECT_EQ(task.encoding.line("to see"),
            (Units{task.encoding.vocabulary.id("\n"), task.encoding.vocabulary.id("to"),
                   task.encoding.vocabulary.id("<unk>"), task.encoding.vocabulary.id("\n")}));
  std::istringstream tiny("too short\n");
  EXPECT_THROW(
      make_task(nn::read_text(tiny, "tiny", nn::TextUnit::word), "tiny", nn::TextUnit::word, 1),
      FileError);
}

TEST(LanguageModelTest, NatsOfTheGrammarAreThoseOfItsSentences) {
  Random random(2);
  const GrammarText once = grammar_text(1, random);
  EXPECT_EQ(std::count(once.text.begin(), once.text.end(), '\n'), 1);
  // The shortest sentences have probability 0.7 * 0.5 / 6 * 0.75 * 0.5 / 4 each.
  const double shortest = -std::log(0.7 * 0.5 / 6 * 0.75 * 0.5 / 4);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const GrammarText sentence = grammar_text(1, random);
    EXPECT_GE(sentence.nats, shortest - 1e-9);
    if (std::count(sentence.text.begin(), sentence.text.end(), ' ') != 2) continue;
    EXPECT_NEAR(sentence.nats, shortest, 1e-9) << sentence.text;
    ++found;
  }
  EXPECT_GT(found, 20);
  Random again(2);
  EXPECT_EQ(grammar_text(1, again).text, once.text);
}

// ------------------------------------------------------------------------- training and resuming

/// Runs all epochs. Calls `after_update` after every update, and `dev_score` for an epoch's score.
void train(nn::TrainingRun& run, Minibatch& batch, StreamReader& reader,
           const std::function<void()>& after_update, const std::function<double()>& dev_score) {
  while (run.next_epoch()) {
    for (const auto& some : run.minibatches(batch, reader.streams().minibatches())) {
      const std::size_t piece = run.progress().minibatches;
      reader.add_losses(batch, some, piece);
      batch.forward();
      reader.read_states(run.ranks());
      run.update(batch, reader.streams().predictions(piece, some));
      reader.keep_states();
      after_update();
    }
    run.finish_epoch(dev_score);
  }
}

/// Trains with the program's parts, and presses Ctrl-C after `stop_after` updates. Returns the
/// parameters.
std::vector<float> train(const std::string& folder, unsigned threads, bool resume,
                         std::uint64_t stop_after = ~std::uint64_t{0}) {
  const Task task = generated_task(100, 1, nn::TextUnit::character, 2);
  ParameterCollection parameters(1);
  const LanguageModel model = small_model(parameters, task.encoding.vocabulary.size(), 0.3f);
  const Streams streams(task.train(), 7, 40);
  StreamReader reader(model, streams, parameters.add_subcollection("streams"));
  AdamTrainer trainer(parameters, 0.01f);
  nn::TrainingOptions options;
  options.epochs = 2;
  options.output = folder;
  options.resume = resume;
  options.settings = {{"length", "40"}};
  options.lines = nullptr;
  nn::TrainingRun run(parameters, trainer, options);
  GraphOptions graph;
  graph.threads = threads;
  Minibatch batch(graph);
  const auto stop = [&] {
    if (trainer.updates() == stop_after) run.stop();
  };
  const auto score = [&] { return -total_nats(model, task.held_out(), 32, threads); };
  train(run, batch, reader, stop, score);
  EXPECT_EQ(run.interrupted(), stop_after != ~std::uint64_t{0});
  std::vector<float> all;
  for (const auto& storage : parameters.storages()) {
    const std::vector<float> some = as_vector(storage->tensor());
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(LanguageModelTest, ResumedTrainingHasTheSameBits) {
  const Folder whole_folder("lm_whole"), parts_folder("lm_parts");
  const std::vector<float> whole = train(whole_folder.path(), 2, false);
  // Stops in the middle of the first epoch, when the states of streams are not zero, and in the
  // second.
  const std::vector<float> first = train(parts_folder.path(), 1, false, 3);
  EXPECT_NE(first, whole);
  train(parts_folder.path(), 2, true, 14);
  EXPECT_EQ(train(parts_folder.path(), 1, true), whole);
}

/// The mean nats of the held-out units, if each has its frequency in the training part.
double unigram_nats(const Task& task) {
  std::vector<double> counts(task.encoding.vocabulary.size(), 1);  // so that none has probability 0
  for (const std::uint32_t unit : task.train()) ++counts[unit];
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double nats = 0;
  for (const std::uint32_t unit : task.held_out().subspan(1)) nats -= std::log(counts[unit] / all);
  return nats / static_cast<double>(task.held_out_size());
}

TEST(LanguageModelTest, LearnsAndIsOfUse) {
  const Task task = generated_task(300, 1, nn::TextUnit::word, 1);
  ParameterCollection parameters(1);
  const LanguageModel model(parameters, {.units = task.encoding.vocabulary.size(),
                                         .embedding = 16,
                                         .hidden = 32,
                                         .layers = 1,
                                         .dropout = 0});
  const auto nats = [&] {
    return total_nats(model, task.held_out(), 8, 1) / static_cast<double>(task.held_out_size());
  };
  const double unigram = unigram_nats(task);
  EXPECT_GT(nats(), unigram);  // has not learnt anything yet
  const Streams streams(task.train(), 8, 16);
  StreamReader reader(model, streams, parameters.add_subcollection("streams"));
  AdamTrainer trainer(parameters, 0.01f);
  nn::TrainingOptions options;
  options.epochs = 4;
  options.better = nn::Better::smaller;
  options.lines = nullptr;
  nn::TrainingRun run(parameters, trainer, options);
  Minibatch batch;
  const auto nothing = [] {};
  train(run, batch, reader, nothing, nats);
  // The perplexity must be at most half that of a model that knows only frequencies of words, and
  // not below that of the grammar, whose nats are given per character.
  const double least = task.least_nats * static_cast<double>(task.held_out_characters) /
                       static_cast<double>(task.held_out_size());
  EXPECT_LT(std::exp(nats()), std::exp(unigram) / 2);
  EXPECT_GT(nats(), 0.9 * least);
}

// ------------------------------------------------------------------------------------- sampling

TEST(LanguageModelTest, SamplingIsReproducible) {
  ParameterCollection parameters(4);
  const LanguageModel model = small_model(parameters, 5);
  const Units prompt{0, 3};
  const auto draw = [&](std::uint64_t seed, float temperature) {
    Random random(seed);
    return sample(model, prompt, {.count = 40, .temperature = temperature, .never = 2}, random);
  };
  const Units drawn = draw(1, 1);
  EXPECT_EQ(drawn.size(), 40u);
  EXPECT_EQ(drawn, draw(1, 1));
  EXPECT_NE(drawn, draw(2, 1));
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 2u), 0);
  for (const std::uint32_t unit : {0u, 1u, 3u, 4u}) {
    EXPECT_GT(std::count(drawn.begin(), drawn.end(), unit), 0);
  }
  // At this temperature only the most probable unit is left, whatever the seed.
  EXPECT_EQ(draw(1, 1e-4f), draw(2, 1e-4f));
}

TEST(LanguageModelTest, SamplesHaveTheProbabilitiesOfTheModel) {
  ParameterCollection parameters(4);
  const LanguageModel model = small_model(parameters, 5);
  const Units prompt{1};
  std::vector<double> counts(5);
  Random random(1);
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[sample(model, prompt, {.count = 1, .temperature = 2, .never = {}}, random).front()];
  }
  double total = 0;
  std::vector<double> weights;
  for (std::uint32_t next = 0; next < 5; ++next) {
    weights.push_back(std::exp(-plain_nats(parameters, Units{1, next}) / 2));
    total += weights.back();
  }
  for (std::uint32_t next = 0; next < 5; ++next) {
    EXPECT_NEAR(counts[next] / kDraws, weights[next] / total, 0.03);
  }
}

}  // namespace
}  // namespace dynet_like::examples
