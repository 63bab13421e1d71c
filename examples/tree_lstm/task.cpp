// Generating ListOps trees, reading treebanks, and numbering their words.
#include "examples/tree_lstm/task.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

#include "dynet_like/core/random.h"
#include "examples/support/fingerprint.h"
#include "nn/data/listops.h"
#include "nn/data/treebank.h"

namespace dynet_like::examples {

namespace {

using nn::Tree;

constexpr char kUnknownWord[] = "<unk>";
constexpr std::uint32_t kDigits = 10, kSentiments = 5;

std::vector<Sample> to_samples(std::vector<Tree> trees, const nn::Vocabulary& vocabulary,
                               bool is_listops) {
  std::vector<Sample> samples;
  samples.reserve(trees.size());
  for (Tree& tree : trees) {
    Sample sample;
    for (const std::string& word : tree.words()) sample.words.push_back(vocabulary.id(word));
    if (is_listops) sample.operators = nn::count_operators(tree);
    sample.tree = std::move(tree);
    samples.push_back(std::move(sample));
  }
  return samples;
}

void add(Fingerprint& fingerprint, const Sample& sample) {
  for (const std::uint32_t word : sample.words) fingerprint.add(word);
  for (const Tree::Node& node : sample.tree.nodes()) {
    fingerprint.add(static_cast<std::uint32_t>(node.label));
    fingerprint.add(node.first_node);
  }
}

nn::Vocabulary listops_vocabulary() {
  nn::Vocabulary vocabulary;
  for (const std::string_view word : nn::kListOpsOperators) vocabulary.add(word);
  for (char digit = '0'; digit <= '9'; ++digit) vocabulary.add(std::string(1, digit));
  vocabulary.add("]");
  vocabulary.freeze();
  return vocabulary;
}

Task listops_task(const Options& options) {
  // A file is read first: nobody wants to wait for an error. Reading checks all its labels.
  std::vector<Tree> test;
  if (!options.listops_test.empty()) test = nn::read_listops(options.listops_test);

  Random random(options.seed);
  std::unordered_set<std::string> seen;
  nn::ListOpsGeneratorOptions shape;
  shape.max_tokens = options.max_tokens;
  shape.min_operators = 3;
  std::vector<Tree> dev =
      nn::ListOpsGenerator(random, shape).generate_distinct(options.dev_trees, seen);
  shape.min_operators = 1;
  nn::ListOpsGenerator generator(random, shape);
  std::vector<Tree> train = generator.generate_distinct(options.train_trees, seen);

  std::string description;
  if (test.empty()) {
    test = generator.generate_distinct(options.test_trees, seen);
  } else {
    const std::size_t removed = std::erase_if(
        test, [&](const Tree& tree) { return seen.contains(nn::listops_string(tree)); });
    description = fmt::format(
        "\nall labels of {} are right; {} of its trees are training or dev "
        "trees too and left out",
        options.listops_test, removed);
  }
  description = fmt::format("ListOps: {} training, {} dev and {} test trees", train.size(),
                            dev.size(), test.size()) +
                description;
  Task task{TaskKind::listops, listops_vocabulary(), {}, {}, {}, std::move(description), {}};
  task.train = to_samples(std::move(train), task.vocabulary, true);
  task.dev = to_samples(std::move(dev), task.vocabulary, true);
  task.test = to_samples(std::move(test), task.vocabulary, true);
  return task;
}

Task treebank_task(const Options& options) {
  std::vector<Tree> train = nn::read_treebank(options.data + "/train.txt");
  std::vector<Tree> dev = nn::read_treebank(options.data + "/dev.txt");
  std::vector<Tree> test = nn::read_treebank(options.data + "/test.txt");
  nn::Vocabulary words;
  words.set_unknown(kUnknownWord);
  for (const Tree& tree : train) {
    for (const std::string& word : tree.words()) words.add(word);
  }
  Task task{TaskKind::sentiments, words.trimmed(options.min_count), {}, {}, {}, {}, {}};
  task.vocabulary.freeze();
  task.description =
      fmt::format("{}: {} training, {} dev and {} test trees, {} words", options.data, train.size(),
                  dev.size(), test.size(), task.vocabulary.size());
  task.train = to_samples(std::move(train), task.vocabulary, false);
  task.dev = to_samples(std::move(dev), task.vocabulary, false);
  task.test = to_samples(std::move(test), task.vocabulary, false);
  return task;
}

}  // namespace

const char* name_of(TaskKind kind) { return kind == TaskKind::listops ? "listops" : "sst"; }

std::uint32_t labels_of(TaskKind kind) { return kind == TaskKind::listops ? kDigits : kSentiments; }

Task load_task(const Options& options) {
  Task task = options.is_listops() ? listops_task(options) : treebank_task(options);
  Fingerprint fingerprint;
  for (const std::vector<Sample>* samples : {&task.train, &task.dev}) {
    for (const Sample& sample : *samples) add(fingerprint, sample);
  }
  task.fingerprint = fmt::format("{} trees, {:016x}", task.train.size(), fingerprint.value());
  return task;
}

std::vector<Sample> read_samples(std::span<const std::string> lines, std::size_t first,
                                 TaskKind kind, const nn::Vocabulary& vocabulary) {
  const std::string file = "standard input";
  nn::ListOpsFileOptions expressions;
  expressions.check_values = false;
  std::vector<Tree> trees;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (nn::is_blank(lines[i])) continue;
    trees.push_back(kind == TaskKind::listops
                        ? nn::parse_listops(lines[i], file, first + i, expressions)
                        : nn::parse_tree(lines[i], file, first + i));
  }
  return to_samples(std::move(trees), vocabulary, kind == TaskKind::listops);
}

}  // namespace dynet_like::examples
