// Runs of the examples that are killed or interrupted while the folder has a model of an earlier
// run. At any time, the folder must have a model that fits its vocabulary.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "examples/full/tests/process.h"

namespace dynet_like::examples {
namespace {

namespace fs = std::filesystem;

using Arguments = std::vector<std::string>;

constexpr unsigned kWords = 12, kSentences = 40, kEpochs = 2;

/// Both languages have the same words, but in another order and with other labels. If vocabularies
/// were mixed up, sizes would fit and answers would differ.
enum class Language { first, second };

std::string word_of(Language language, unsigned number) {
  const unsigned letter = language == Language::first ? number : kWords - 1 - number;
  return std::string(1, static_cast<char>('a' + letter));
}

std::vector<std::vector<unsigned>> sentences(Language language) {
  std::vector<std::vector<unsigned>> result(kSentences);
  unsigned next = 0;
  for (unsigned i = 0; i < kSentences; ++i) {
    for (unsigned t = 0; t < 3 + i % 4; ++t) result[i].push_back((next += 1 + t * i) % kWords);
  }
  if (language == Language::second) std::reverse(result.begin(), result.end());
  return result;
}

/// Writes sentences, one per line.
using TextOf = std::string(Language, const std::vector<unsigned>& sentence);
void write_sentences(const fs::path& path, Language language, TextOf* text) {
  std::ofstream out(path, std::ios::binary);
  for (const auto& sentence : sentences(language)) out << text(language, sentence) << '\n';
}

std::string plain_text(Language language, const std::vector<unsigned>& sentence) {
  std::string text;
  for (const unsigned word : sentence) text += word_of(language, word) + ' ';
  return text;
}

std::string labelled_words(Language language, const std::vector<unsigned>& sentence) {
  std::string text;
  for (const unsigned word : sentence) {
    text += word_of(language, word) + "\tL" + std::to_string(word % 3) + '\n';
  }
  return text;
}

/// A tree that grows to the right. A node has the label of its last word.
std::string tree(Language language, const std::vector<unsigned>& sentence) {
  const auto label = [](unsigned word) { return '(' + std::to_string(word % 5) + ' '; };
  std::string text;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    if (i + 1 < sentence.size()) text += label(sentence.back());
    text += label(sentence[i]) + word_of(language, sentence[i]) + ") ";
  }
  return text + std::string(sentence.size() - 1, ')');
}

/// The label is that of the last word.
std::string labelled_text(Language language, const std::vector<unsigned>& sentence) {
  return 'L' + std::to_string(sentence.back() % 3) + '\t' + plain_text(language, sentence);
}

struct Example {
  const char* program;
  /// How a sentence is written to apply a model to it.
  TextOf* text;
  /// Writes training data. Returns the arguments that name the files.
  Arguments (*write_data)(const fs::path& folder, Language);
  Arguments options;
};

Arguments write_tagger_data(const fs::path& folder, Language language) {
  const std::string file = folder / "sentences.tsv";
  write_sentences(file, language, labelled_words);
  return {"--train", file, "--dev", file, "--test", file};
}

Arguments write_treebank(const fs::path& folder, Language language) {
  const std::string file = folder / "trees.txt";
  write_sentences(file, language, tree);
  return {"--train", file, "--dev", file, "--test", file};
}

Arguments write_text(const fs::path& folder, Language language) {
  const std::string file = folder / "text.txt";
  write_sentences(file, language, plain_text);
  return {"--train", file};
}

Arguments write_texts(const fs::path& folder, Language language) {
  const std::string file = folder / "texts.tsv";
  write_sentences(file, language, labelled_text);
  return {"--train", file, "--dev", file};
}

std::vector<Example> all_examples() {
  return {
      {"tagger",
       plain_text,
       write_tagger_data,
       {"--embedding", "6", "--characters", "2", "--character-hidden", "2", "--hidden", "6",
        "--dropout", "0", "--word-dropout", "0", "--batch-size", "4", "--learning-rate", "0.05"}},
      {"tree_lstm",
       tree,
       write_treebank,
       {"--embedding", "6", "--hidden", "6", "--batch-size", "4", "--learning-rate", "0.02",
        "--min-count", "1", "--dropout", "0"}},
      {"language_model",
       plain_text,
       write_text,
       {"--level", "word", "--embedding", "6", "--hidden", "6", "--layers", "1", "--batch-size",
        "2", "--sequence-length", "8", "--learning-rate", "0.01"}}};
}

// The folder of this program and the examples.
fs::path programs() { return fs::read_symlink("/proc/self/exe").parent_path(); }

class InterruptedRunsTest : public testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    if (!fs::exists(stop_at_)) GTEST_SKIP() << "need " << stop_at_ << ", which is not built";
    fs::remove_all(folder_);
    for (const Language language : {Language::first, Language::second}) {
      const fs::path data = folder_ / (language == Language::first ? "data_1" : "data_2");
      fs::create_directories(data);
      data_[language == Language::second] = GetParam().write_data(data, language);
    }
    write_sentences(folder_ / "input", Language::first, GetParam().text);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ending train(Language language, const std::string& output, unsigned epochs,
               const Arguments& more = {}, Surroundings surroundings = {}) const {
    surroundings.environment["LD_PRELOAD"] = stop_at_;
    Arguments command = {programs_ + '/' + GetParam().program,
                         "--output",
                         folder_ / output,
                         "--epochs",
                         std::to_string(epochs),
                         "--threads",
                         "1"};
    for (const Arguments& some : {GetParam().options, data_[language == Language::second], more}) {
      command.insert(command.end(), some.begin(), some.end());
    }
    return run_process(command, surroundings);
  }

  /// The answers of a folder's model to the first language's sentences.
  std::string apply(const std::string& output) const {
    const Ending ending =
        run_process({programs_ + '/' + GetParam().program, "--apply", "--output", folder_ / output},
                    {.input = folder_ / "input"});
    EXPECT_EQ(ending.status, 0) << ending.errors;
    return ending.output;
  }

  std::string best(const std::string& output) const {
    return text_of(folder_ / output / "best.safetensors");
  }

  /// Restores a folder as the earlier run left it. Temporary files of killed runs stay.
  void restore(const std::string& from) const {
    constexpr auto kOver = fs::copy_options::overwrite_existing | fs::copy_options::recursive;
    fs::copy(folder_ / from, folder_ / "run", kOver);
  }

  /// Trains a model of the first language, and one of the second after each epoch; all answer
  /// differently.
  void train_references() {
    ASSERT_EQ(train(Language::first, "old", kEpochs).status, 0);
    allowed_.insert(apply("old"));
    for (unsigned epochs = 1; epochs <= kEpochs; ++epochs) {
      const Ending ending = train(Language::second, "new_" + std::to_string(epochs), epochs);
      ASSERT_EQ(ending.status, 0) << ending.errors;
      allowed_.insert(apply("new_" + std::to_string(epochs)));
    }
    ASSERT_EQ(allowed_.size(), 1 + kEpochs);
  }

  Surroundings stopped_at(int call, int signal) const {
    return {
        .environment = {{"STOP_AT", std::to_string(call)}, {"STOP_WITH", std::to_string(signal)}}};
  }

  void expect_a_model(const std::string& when) const {
    EXPECT_TRUE(allowed_.contains(apply("run"))) << GetParam().program << ' ' << when;
  }

  /// How many calls are between two at which runs are stopped. The examples train by the same code.
  static int step() { return GetParam().program == std::string("tagger") ? 1 : 3; }

  /// Trains in a folder like `from`, stopped before calls that change files, one run after the
  /// other, until a run is not stopped.
  template <class Check>
  void stop_everywhere(const std::string& from, int signal, const Arguments& more,
                       const Check& check) {
    int call = 1;
    for (;; call += step()) {
      restore(from);
      const Ending ending = train(Language::second, "run", kEpochs, more, stopped_at(call, signal));
      const std::string when =
          "signal " + std::to_string(signal) + " before call " + std::to_string(call);
      if (ending.signal == 0 && ending.status == 0) break;
      expect_a_model(when);
      check(ending, when);
      if (HasFailure()) return;
    }
    EXPECT_GT(call, 8);  // an epoch writes two files
    EXPECT_TRUE(best("run") == best(final_));
    for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
      EXPECT_NE(entry.path().extension(), ".tmp");
    }
  }

  void expect_to_resume(const std::string& when) const {
    // Options that are not given come from the checkpoint, which may be of a run with fewer epochs.
    const Ending resumed =
        run_process({programs_ + '/' + GetParam().program, "--resume", "--output", folder_ / "run",
                     "--epochs", std::to_string(kEpochs)});
    EXPECT_EQ(resumed.status, 0) << when << resumed.errors;
    EXPECT_TRUE(best("run") == best(final_)) << when;
  }

  const std::string final_ = "new_" + std::to_string(kEpochs);
  const fs::path folder_ = fs::path(testing::TempDir()) /
                           ("interrupted_" + std::to_string(getpid()) + '_' + GetParam().program);
  const std::string programs_ = programs();
  const std::string stop_at_ = programs() / "libstop_at.so";
  Arguments data_[2];
  std::set<std::string> allowed_;
};

TEST_P(InterruptedRunsTest, KilledAnywhere) {
  ASSERT_NO_FATAL_FAILURE(train_references());
  stop_everywhere("old", SIGKILL, {}, [](const Ending& ending, const std::string& when) {
    EXPECT_EQ(ending.signal, SIGKILL) << when << ending.errors;
  });
}

TEST_P(InterruptedRunsTest, KilledAnywhereAfterResuming) {
  ASSERT_NO_FATAL_FAILURE(train_references());
  stop_everywhere("new_1", SIGKILL, {"--resume"}, [&](const Ending& ending, const auto& when) {
    EXPECT_EQ(ending.signal, SIGKILL) << when << ending.errors;
    expect_to_resume(when);
  });
}

TEST_P(InterruptedRunsTest, InterruptedAnywhere) {
  ASSERT_NO_FATAL_FAILURE(train_references());
  int stopped = 0;
  stop_everywhere("old", SIGINT, {}, [&](const Ending& ending, const std::string& when) {
    // Until there is something to save, Ctrl-C ends a program at once.
    EXPECT_TRUE(ending.status == 130 || ending.signal == SIGINT)
        << when << ": status " << ending.status << ending.errors;
    if (ending.status == 130 && ++stopped % 4 == 0) expect_to_resume(when);
  });
  EXPECT_GT(stopped * step(), 8);
}

TEST_P(InterruptedRunsTest, StoppedAtAnyTime) {
  ASSERT_NO_FATAL_FAILURE(train_references());
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  restore("old");
  train(Language::second, "run", kEpochs);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
  constexpr int kTimes = 8;
  for (const int signal : {SIGKILL, SIGINT}) {
    for (int i = 0; i < kTimes; ++i) {
      restore("old");
      train(Language::second, "run", kEpochs, {}, {.signal = signal, .after = whole * i / kTimes});
      expect_a_model("signal " + std::to_string(signal) + " after " + std::to_string(i) + " of " +
                     std::to_string(kTimes) + " parts of a run");
    }
  }
}

/// For an example whose learning rate falls until the last epoch: its number of epochs cannot
/// change.
class ScheduledRunTest : public InterruptedRunsTest {};

TEST_P(ScheduledRunTest, GoesOnAfterCtrlC) {
  ASSERT_EQ(train(Language::second, final_, kEpochs).status, 0);
  int stopped = 0;
  for (int call = 1;; ++call) {
    fs::remove_all(folder_ / "run");
    const Ending ending = train(Language::second, "run", kEpochs, {}, stopped_at(call, SIGINT));
    if (ending.signal == 0 && ending.status == 0) break;
    const std::string when = "before call " + std::to_string(call);
    EXPECT_TRUE(ending.status == 130 || ending.signal == SIGINT) << when << ending.errors;
    if (ending.status != 130) continue;
    ++stopped;
    expect_to_resume(when);
  }
  EXPECT_GT(stopped, 4);
}

INSTANTIATE_TEST_SUITE_P(Examples, InterruptedRunsTest, testing::ValuesIn(all_examples()),
                         [](const auto& info) { return info.param.program; });

INSTANTIATE_TEST_SUITE_P(Examples, ScheduledRunTest,
                         testing::Values(Example{
                             "text_classifier",
                             plain_text,
                             write_texts,
                             {"--embedding", "6", "--hidden", "8", "--batch-size", "4",
                              "--learning-rate", "0.02", "--min-count", "1"}}),
                         [](const auto& info) { return info.param.program; });

}  // namespace
}  // namespace dynet_like::examples
