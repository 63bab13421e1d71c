// Parts of the full examples that programs.py does not see from outside: options in damaged files,
// streams of text, and what data mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "dynet_like/core/errors.h"
#include "examples/full/language_model/streams.h"
#include "examples/full/language_model/task.h"
#include "examples/full/seq2seq/pairs.h"
#include "examples/full/support/generated.h"
#include "examples/full/tagger/sentences.h"
#include "examples/full/tree_lstm/listops.h"
#include "nn/data/listops.h"

namespace dynet_like::examples {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;
using Units = std::vector<std::uint32_t>;

/// A program with all kinds of options.
const Program kProgram = {"tagger",
                          "What it is.\n",
                          [](OptionTable& table) {
                            table.files("sentences");
                            table.whole("size", {1, 100}, "10", "20", "a size");
                            table.real("rate", {0, 0.95}, "0.5", "a rate");
                            table.word("kind", "red|green", "red", "a colour");
                            table.whole("layers", {1, 9}, kNever, "3", "of files");
                          },
                          {{"5", "6"}, {"32", "8"}, {"0.1", "0.01"}, {"0.9", "0.8"}}};

Options options_of(Strings arguments) {
  arguments.insert(arguments.begin(), "tagger");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return Options(kProgram, static_cast<int>(pointers.size()), pointers.data());
}

std::string write(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(OptionsTest, HaveTwoDefaults) {
  const std::string file = write("file", "");
  const Options usual = options_of({}), special = options_of({"--train", file});
  EXPECT_EQ(usual.whole("size"), 10u);
  EXPECT_EQ(special.whole("size"), 20u);
  EXPECT_EQ(special.whole("layers"), 3u);
  EXPECT_EQ(special.training("samples", "score").epochs, 6u);
  EXPECT_FALSE(usual.has("size"));
  const std::string help = usual.help();
  for (const char* part : {"What it is.", "--size N", "(10; 20 with --train)", "(0.5)", "(3)",
                           "--kind red|green", "(32; 8 with --train)", "--resume"}) {
    EXPECT_NE(help.find(part), help.npos) << part << '\n' << help;
  }
  EXPECT_THROW(options_of({"--layers", "2"}), UsageError);
  EXPECT_THROW(options_of({"--kind", "d|g"}), UsageError);
  EXPECT_THROW(options_of({"--kind", ""}), UsageError);
}

TEST(OptionsTest, FilesAreHostile) {
  const std::string folder = testing::TempDir();
  const Strings apply = {"--apply", "--output", folder}, resume = {"--resume", "--output", folder};
  Metadata metadata =
      options_of({"--size", "30", "--rate", "0.3"}).training("a", "b").files.settings;
  const auto save = [&](const std::string& file) {
    save_parameters(fs::path(folder) / (file + ".safetensors"), ParameterCollection(), metadata);
  };
  save("best");
  save("checkpoint");
  Options options = options_of(apply);
  options.load_model();
  EXPECT_EQ(options.whole("size"), 30u);
  EXPECT_EQ(options.real("rate"), 0.3f);
  EXPECT_EQ(options_of(resume).training("a", "b").files.settings, metadata);
  // The same value is no other setting, however it is written.
  const Options same = options_of({"--resume", "--output", folder, "--size", "3e1"});
  EXPECT_EQ(same.training("a", "b").files.settings, metadata);
  for (const auto& [name, value] : {std::pair("--size", "1000000000"), {"example", "another"}}) {
    metadata[name] = value;
    save("best");
    save("checkpoint");
    EXPECT_THROW(options_of(apply).load_model(), FileError);
    EXPECT_THROW(options_of(resume), FileError);
  }
}

TEST(LanguageModelTest, EveryUnitButTheFirstIsPredictedOnce) {
  for (const std::size_t size : {2u, 3u, 7u, 40u, 101u}) {
    for (const unsigned count : {1u, 2u, 3u, 64u}) {
      for (const unsigned length : {2u, 3u, 8u}) {
        Units units(size), predicted;
        std::iota(units.begin(), units.end(), 0u);
        const Streams streams(units, count, length);
        for (unsigned stream = 0; stream < streams.count(); ++stream) {
          for (std::size_t piece = 0; piece < streams.pieces(); ++piece) {
            const auto part = streams.piece(stream, piece);
            ASSERT_GE(part.size(), 2u);
            ASSERT_LE(part.size(), length + 1);
            predicted.insert(predicted.end(), part.begin() + 1, part.end());
          }
        }
        ASSERT_EQ(predicted, Units(units.begin() + 1, units.end()));
      }
    }
  }
}

TEST(LanguageModelTest, ThreadsAndProcessesReadTheSameStreams) {
  ParameterCollection parameters(4);
  const LanguageModel model(parameters,
                            {.units = 5, .embedding = 4, .hidden = 6, .layers = 2, .dropout = 0});
  Random random(9);
  Units units(701);  // several pieces
  for (std::uint32_t& unit : units) unit = random.below(5);
  const auto nats = [&](unsigned streams, unsigned threads) {
    return total_nats(model, units, streams, threads, *single_process());
  };
  EXPECT_EQ(nats(4, 1), nats(4, 3));
  // One stream without pieces: the loss of the text as a whole.
  ComputationGraph graph;
  const double whole = as_scalar(model.read(model.start(graph), units).loss.value());
  EXPECT_NEAR(nats(1, 1), whole, 1e-2);
}

TEST(LanguageModelTest, RareWordsAreUnknownButTheirCharactersCount) {
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += "to be or\n";
  const Task task = make_task(
      nn::read_text(nn::TextSource::of(lines + "not to be\n", "text"), nn::TextUnit::word), "text",
      nn::TextUnit::word, 2);
  EXPECT_EQ(task.encoding.vocabulary.size(), 5u);  // to, be, or, the end of a line, unknown
  EXPECT_EQ(task.train_characters + task.held_out_characters, 100u);
  const nn::Text text =
      nn::read_text(nn::TextSource::of("too short\n", "tiny"), nn::TextUnit::word);
  EXPECT_THROW(make_task(text, "tiny", nn::TextUnit::word, 1), FileError);
}

TEST(LanguageModelTest, NatsOfTheGrammarAreThoseOfItsSentences) {
  Random random(2);
  // The shortest sentences have probability 0.7 * 0.5 / 6 * 0.75 * 0.5 / 4 each.
  const double shortest = -std::log(0.7 * 0.5 / 6 * 0.75 * 0.5 / 4);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const GrammarText sentence = grammar_text(1, random);
    EXPECT_GE(sentence.nats, shortest - 1e-9);
    if (std::ranges::count(sentence.text, ' ') != 2) continue;
    EXPECT_NEAR(sentence.nats, shortest, 1e-9) << sentence.text;
    ++found;
  }
  EXPECT_GT(found, 20);
}

// SCAN's own files have the same meanings, with other names of actions.
TEST(CommandsTest, AreThoseOfScan) {
  Random random(1);
  std::map<std::string, std::string> meanings, scan;
  for (const nn::TextPair& pair : draw_commands(kCommands, random))
    meanings[pair.first] = pair.second;
  EXPECT_EQ(meanings.size(), kCommands);  // all are different
  EXPECT_EQ(meanings.at("turn around left"), "LEFT LEFT LEFT LEFT");
  EXPECT_EQ(meanings.at("look left after jump twice"), "JUMP JUMP LEFT LOOK");
  const char* const data = std::getenv("DYNET_LIKE_DATA");
  if (data == nullptr) GTEST_SKIP() << "DYNET_LIKE_DATA is not set";
  for (const nn::TextPair& pair : nn::read_scan(std::string(data) + "/scan/tasks.txt")) {
    std::string& actions = scan[pair.first] = pair.second;
    for (const std::string prefix : {"I_TURN_", "I_"}) {
      for (std::size_t at; (at = actions.find(prefix)) != actions.npos;)
        actions.erase(at, prefix.size());
    }
  }
  EXPECT_EQ(scan, meanings);
}

TEST(SentencesTest, FilesAreWhatTheirNamesSay) {
  const auto load = [&](const std::string& train, const std::string& dev) {
    return load_sentences(options_of({"--train", train, "--dev", dev}));
  };
  EXPECT_THROW(load("none", "none"), FileError);
  // Words are split only in the training file of WNUT-17.
  const TaggedData entities =
      load(write("wnut17train.conll",
                 "@ann\tB-x\n@\tO\n#b\tO\nLee’s\tI-x\nnon-EU9\tB-y\nhttp://a.b\tO\n"),
           write("emerging.dev.conll", "@ann\tO\n"));
  EXPECT_EQ(entities.score_name, "entity_f1");
  EXPECT_EQ(entities.train,
            (std::vector<nn::TaggedSentence>{
                {{"@", "ann", "@", "#", "b", "Lee", "’", "s", "non-EU", "9", "http://a.b"},
                 {"O", "B-x", "O", "O", "O", "I-x", "I-x", "I-x", "B-y", "I-y", "O"}}}));
  EXPECT_EQ(entities.dev[0].words, Strings{"@ann"});
  const std::string bank = write("a.conllu", "1\ta\t_\tDET\t_\t_\t0\troot\t_\t_\n");
  const TaggedData tags = load(bank, bank);
  EXPECT_EQ(tags.score_name, "upos_accuracy");
  EXPECT_EQ(tags.train, (std::vector<nn::TaggedSentence>{{{"a"}, {"DET"}}}));
}

TEST(ListOpsTest, GeneratedExpressionsAreDistinctAndFit) {
  const ListOpsSizes sizes = {.train = 300, .dev = 40, .test = 50, .max_tokens = 30};
  const nn::TreeSplits all = listops_splits("", "", sizes, 1);
  std::set<std::string> seen;
  const fs::path file = fs::path(testing::TempDir()) / "listops.tsv";
  std::ofstream lines(file);
  for (const auto* trees : {&all.train, &all.dev, &all.test}) {
    for (const nn::Tree& tree : *trees) {
      const std::string text = nn::listops_string(tree);
      EXPECT_TRUE(seen.insert(text).second);
      EXPECT_GE(nn::count_operators(tree), trees == &all.train ? 1u : 3u);
      EXPECT_LE(tree.leaf_count(), 30u);
      if (trees == &all.train) lines << nn::evaluate_listops(tree) << '\t' << text << '\n';
    }
  }
  lines.close();
  EXPECT_EQ(seen.size(), 390u);
  EXPECT_EQ(listops_splits("", "", sizes, 1).train, all.train);
  EXPECT_NE(listops_splits("", "", sizes, 2).train, all.train);
  EXPECT_EQ(listops_splits(file, "", sizes, 2).train, all.train);  // as labels and words
  const nn::TreeSplits others = listops_splits("", file, sizes, 1);
  EXPECT_EQ(others.test, all.train);
  for (const nn::Tree& tree : others.train) {  // the same seed, and yet none of the test data
    EXPECT_EQ(std::ranges::count(all.train, tree), 0);
  }
  EXPECT_THROW(listops_splits(file.string() + ".missing", "", sizes, 1), FileError);
  EXPECT_THROW(listops_splits("", "", {.max_tokens = 9}, 1),
               UsageError);  // three operators need 10
}

}  // namespace
}  // namespace dynet_like::examples
