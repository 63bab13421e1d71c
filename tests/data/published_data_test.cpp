// Published data sets, where the machine has them: their readers find what is published.
#include <set>

#include "nn/data/conllu.h"
#include "nn/data/listops.h"
#include "nn/data/tab_separated.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/text.h"
#include "nn/data/text_pairs.h"
#include "nn/data/treebank.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Counts = std::vector<std::size_t>;

/// Sentences, words, multi-word tokens, empty nodes, and sentences with arcs that cross.
Counts of_conllu(const std::string& path) {
  const std::vector<ConlluSentence> sentences = read_conllu(path);
  Counts counts = {sentences.size(), 0, 0, 0, 0};
  for (const ConlluSentence& sentence : sentences) {
    counts[1] += sentence.words.size();
    counts[2] += sentence.multiwords.size();
    counts[3] += sentence.empty_nodes.size();
    counts[4] += is_projective(sentence.heads()) ? 0 : 1;
    EXPECT_TRUE(is_tree(sentence.heads()) && sentence.comment("sent_id").has_value());
  }
  EXPECT_TRUE(to_conllu(sentences) == file_contents(path)) << path;
  return counts;
}

/// Trees, nodes, words, the greatest depth, and roots of each label.
Counts of_treebank(const std::string& path) {
  Counts counts(9);
  for (const Tree& tree : read_treebank(path)) {
    ++counts[0];
    counts[1] += tree.size();
    counts[2] += tree.leaf_count();
    counts[3] = std::max<std::size_t>(counts[3], tree.depth());
    EXPECT_EQ(parse_tree(to_string(tree), "written", 1), tree);
    ++counts[4 + static_cast<std::size_t>(tree.label(tree.root()))];
  }
  return counts;
}

/// Expressions, other ones, the greatest depth, and the most tokens. The data agree with the
/// reading of "depth 20": digits at depth 20, operators to depth 19.
Counts of_listops(const std::string& path) {
  std::set<std::string> seen;
  Counts counts(4);
  const std::vector<LabelledText> texts = read_labelled_texts(path);
  for (const Tree& tree : read_listops(path, {.check_values = false})) {
    EXPECT_EQ(evaluate_listops(tree), tree.label(tree.root()));
    EXPECT_EQ(texts.at(counts[0]++).label, std::to_string(tree.label(tree.root())));
    counts[2] = std::max<std::size_t>(counts[2], listops_depth(tree));
    counts[3] = std::max<std::size_t>(counts[3], tree.leaf_count());
    seen.insert(listops_string(tree));
  }
  counts[1] = seen.size();
  EXPECT_EQ(texts.size(), counts[0]);
  return counts;
}

/// Sentences, words, entities and tags.
Counts of_columns(const std::string& path) {
  Counts counts(4);
  std::set<std::string> tags;
  for (const TaggedSentence& sentence : read_columns(path)) {
    ++counts[0];
    counts[1] += sentence.words.size();
    for (const std::string& tag : sentence.tags) counts[2] += tag.starts_with("B-") ? 1 : 0;
    tags.insert(sentence.tags.begin(), sentence.tags.end());
  }
  counts[3] = tags.size();
  return counts;
}

/// Commands, and the most actions of one.
Counts of_scan(const std::string& path) {
  Counts counts(2);
  for (const TextPair& pair : read_scan(path)) {
    ++counts[0];
    counts[1] = std::max(counts[1], split_line(pair.second, TextUnit::word).size());
  }
  return counts;
}

/// Characters, and different ones.
Counts of_text(const std::string& path) {
  const Text text = read_text(path, TextUnit::character);
  EXPECT_TRUE(join_units(text.vocabulary, text.units, TextUnit::character) == file_contents(path));
  return {text.units.size(), text.vocabulary.size()};
}

struct Published {
  std::string file;
  Counts (*read)(const std::string& path);
  Counts counts;
};

void PrintTo(const Published& data, std::ostream* out) { *out << data.file; }

class PublishedDataTest : public ::testing::TestWithParam<Published> {};

INSTANTIATE_TEST_SUITE_P(
    Files, PublishedDataTest,
    ::testing::ValuesIn(std::vector<Published>{
        {"ud_english_ewt/en_ewt-ud-train.conllu", of_conllu, {12544, 204577, 2614, 37, 288}},
        {"ud_english_ewt/en_ewt-ud-dev.conllu", of_conllu, {2001, 25147, 359, 4, 31}},
        {"ud_english_ewt/en_ewt-ud-test.conllu", of_conllu, {2077, 25094, 354, 2, 26}},
        {"sst/train.txt", of_treebank, {8544, 318582, 163563, 30, 1092, 2218, 1624, 2322, 1288}},
        {"sst/dev.txt", of_treebank, {1101, 41447, 21274, 28, 139, 289, 229, 279, 165}},
        {"sst/test.txt", of_treebank, {2210, 82600, 42405, 29, 279, 633, 389, 510, 399}},
        {"listops/test_d20s.tsv", of_listops, {10000, 10000, 20, 939}},
        {"wnut17/wnut17train.conll", of_columns, {3394, 62730, 1975, 13}},
        {"wnut17/emerging.test.annotated", of_columns, {1287, 23394, 1079, 13}},
        {"scan/tasks.txt", of_scan, {20910, 48}},
        {"scan/tasks_train_simple.txt", of_scan, {16728, 48}},
        {"scan/tasks_test_simple.txt", of_scan, {4182, 48}},
        {"scan/tasks_train_length.txt", of_scan, {16990, 22}},
        {"scan/tasks_test_length.txt", of_scan, {3920, 48}},
        {"scan/tasks_train_addprim_jump.txt", of_scan, {14670, 48}},
        {"scan/tasks_test_addprim_jump.txt", of_scan, {7706, 48}},
        {"tinyshakespeare/input.txt", of_text, {1115394, 65}},
    }));

TEST_P(PublishedDataTest, AreReadWhole) {
  const std::string path = data_file(GetParam().file);
  if (path.empty()) {
    GTEST_SKIP() << "needs " << GetParam().file << " in the folder that DYNET_LIKE_DATA names";
  }
  EXPECT_EQ(GetParam().read(path), GetParam().counts);
}

}  // namespace
}  // namespace dynet_like::nn
