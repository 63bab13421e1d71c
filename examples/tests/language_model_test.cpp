// Parts of the language model example: streams, evaluation, training and resuming, sampling, lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "examples/language_model/evaluation.h"
#include "examples/language_model/grammar.h"
#include "examples/language_model/sampling.h"
#include "examples/language_model/streams.h"
#include "examples/language_model/task.h"
#include "examples/language_model/trainee.h"
#include "examples/language_model/use.h"

namespace dynet_like::examples {
namespace {

using Units = std::vector<std::uint32_t>;

/// A new folder, which is gone at the end.
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

Options small_options(const std::string& output) {
  Options options;
  options.sentences = 100;
  options.embedding = 4;
  options.hidden = 12;
  options.layers = 2;
  options.dropout = 0.3f;
  options.epochs = 2;
  options.batch_size = 7;
  options.sequence_length = 40;
  options.output = output;
  return options;
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
        for (std::size_t p = 0; p < streams.pieces(); ++p) predictions += streams.predictions(p);
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

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The model once more, as plain loops over the numbers of its parameters.
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
      c[e] = logistic(a[e]) * c[e] + logistic(a[n + e]) * std::tanh(a[3 * n + e]);
      h[e] = logistic(a[2 * n + e]) * std::tanh(c[e]);
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
  const std::vector<Units> texts{{0, 1}, {4, 4, 4, 2, 0, 1, 3}, {2, 3, 1}};
  const std::vector<double> nats = nats_of_each(model, texts, 2);
  ASSERT_EQ(nats.size(), 3u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(nats[i], total_nats(model, texts[i], 1, 1));
    EXPECT_NEAR(nats[i], plain_nats(parameters, texts[i]), 1e-4);
  }
  EXPECT_TRUE(nats_of_each(model, {}, 1).empty());
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

/// The parts of a training run, put together as the program does.
class TrainingRun {
 public:
  explicit TrainingRun(const Options& options)
      : options_(options),
        task_(load_task(options)),
        parameters_(options.seed),
        model_(parameters_, model_options(options, task_.encoding)),
        trainer_(parameters_, options.learning_rate),
        trainee_(model_, options_, task_, parameters_.add_subcollection("streams")) {}

  /// Ctrl-C after so many updates, if there are as many.
  bool train(std::uint64_t interrupt_after = ~std::uint64_t{0}) {
    Interrupted interrupted(trainee_, interrupt_after);
    const Streams& streams = trainee_.streams();
    Training training(training_options(options_, task_, streams),
                      std::vector<std::uint32_t>(streams.pieces(), 1), parameters_, trainer_,
                      interrupted);
    const bool complete = training.run();
    score_ = training.progress().best_score;
    return complete;
  }

  const Task& task() const { return task_; }
  const LanguageModel& model() const { return model_; }
  std::uint64_t updates() const { return trainer_.updates(); }
  double score() const { return score_; }

  std::vector<float> numbers() const {
    std::vector<float> all;
    for (const auto& storage : parameters_.storages()) {
      const std::vector<float> some = as_vector(storage->tensor());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

 private:
  class Interrupted : public Trainee {
   public:
    Interrupted(Trainee& trainee, std::uint64_t after) : trainee_(trainee), after_(after) {}
    Loss run(std::span<const std::uint32_t> samples, std::uint64_t step) override {
      if (step + 1 == after_) std::raise(SIGINT);
      return trainee_.run(samples, step);
    }
    const Gradients& gradients() override { return trainee_.gradients(); }
    double dev_score() override { return trainee_.dev_score(); }
    std::string score_text(double score) const override { return trainee_.score_text(score); }

   private:
    Trainee& trainee_;
    std::uint64_t after_;
  };

  Options options_;
  Task task_;
  ParameterCollection parameters_;
  LanguageModel model_;
  AdamTrainer trainer_;
  TextTrainee trainee_;
  double score_ = 0;
};

TEST(LanguageModelTest, ResumedTrainingHasTheSameBits) {
  const Folder whole_folder("lm_whole"), parts_folder("lm_parts");
  TrainingRun whole(small_options(whole_folder.path()));
  ASSERT_TRUE(whole.train());
  Options options = small_options(parts_folder.path());
  options.threads = 1;  // which changes nothing
  // In the middle of the first epoch, where states of streams are not zero, and of the second.
  std::uint64_t interrupt_after = 3;
  for (bool complete = false; !complete; options.resume = true) {
    TrainingRun part(options);
    complete = part.train(interrupt_after);
    if (!complete) {
      EXPECT_EQ(part.updates(), interrupt_after);
    } else {
      EXPECT_EQ(part.updates(), whole.updates());
      EXPECT_EQ(part.numbers(), whole.numbers());
      EXPECT_EQ(part.score(), whole.score());
      EXPECT_GT(part.updates(), 13u);
    }
    interrupt_after += 10;
  }
  options.sequence_length = 41;
  TrainingRun other(options);
  EXPECT_THROW(other.train(), UsageError);
}

TEST(LanguageModelTest, LearnsAndIsOfUse) {
  const Folder folder("lm_learns");
  Options options = small_options(folder.path());
  options.sentences = 400;
  options.hidden = 32;
  options.dropout = 0;
  options.epochs = 8;
  options.learning_rate = 0.03f;
  TrainingRun run(options);
  ASSERT_TRUE(run.train());
  EXPECT_LT(-run.score(), 0.75);  // random characters: 3.3

  const TrainedModel trained(folder.path());
  const Task& task = run.task();
  EXPECT_EQ(total_nats(trained.model(), task.held_out(), 32, 1),
            total_nats(run.model(), task.held_out(), 32, 1));
  EXPECT_EQ(sampled_text(trained.model(), trained.encoding(), options, 50),
            sampled_text(run.model(), task.encoding, options, 50));

  const std::vector<std::string> texts = {"the dogs sleep", "the dogs xqzzw", ""};
  std::istringstream lines(nats_of_lines(texts, trained.model(), trained.encoding(), 2));
  double likely = 0, unlikely = 0, empty = 0;
  std::string first, second;
  lines >> likely;
  std::getline(lines, first);
  lines >> unlikely;
  std::getline(lines, second);
  lines >> empty;
  EXPECT_EQ(first, "\tthe dogs sleep");
  EXPECT_EQ(second, "\tthe dogs xqzzw");
  EXPECT_LT(likely, 1);
  EXPECT_GT(unlikely, likely + 1);
  EXPECT_GT(empty, 1);  // no sentence is empty
}

TEST(LanguageModelTest, ThereMustBeATrainedModel) {
  EXPECT_THROW(TrainedModel("no_such_folder"), FileError);
  EXPECT_THROW(unit_of("letter"), UsageError);
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
  // So cold that only the most likely one is left, whatever the seed.
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
