// Random ListOps expressions, drawn token by token, with a stack of open operators.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "dynet_like/core/errors.h"
#include "nn/data/listops.h"

namespace dynet_like::nn {

namespace {

constexpr int kAttempts = 1'000'000;
constexpr std::array<std::string_view, 10> kDigits = {"0", "1", "2", "3", "4",
                                                      "5", "6", "7", "8", "9"};

void check(bool fits, const char* rule) {
  if (!fits) throw UsageError(std::string("[listops generator] need ") + rule);
}

}  // namespace

ListOpsGenerator::ListOpsGenerator(Random& random, const ListOpsGeneratorOptions& options)
    : random_(random), options_(options) {
  check(options.digit_probability >= 0 && options.digit_probability <= 1,
        "a digit_probability from 0 to 1");
  check(options.max_depth >= 1, "a max_depth of 1 or more");
  check(options.max_arguments >= 2, "max_arguments of 2 or more");
  // The shortest expression with k operators has k ends and k + 1 digits.
  check(std::uint64_t{options.min_operators} * 3 + 1 <= options.max_tokens,
        "max_tokens of 3 * min_operators + 1 or more");
  check(options.min_operators == 0 || (options.max_depth > 1 && options.digit_probability < 1),
        "max_depth and digit_probability that allow operators, or min_operators of 0");
}

bool ListOpsGenerator::try_generate(Tree& tree) {
  std::vector<std::uint32_t> missing;  // how many arguments each open operator still needs
  std::uint64_t tokens = 1;            // the fewest that the expression can have now
  std::uint32_t operators = 0;
  do {
    if (missing.size() + 1 < options_.max_depth &&
        random_.uniform() >= options_.digit_probability) {
      missing.push_back(2 + random_.below(options_.max_arguments - 1));
      tokens += missing.back() + 1;
      if (tokens > options_.max_tokens) return false;
      tree.add_leaf(Tree::kNoLabel, kListOpsOperators[random_.below(kListOpsOperators.size())]);
      ++operators;
      continue;
    }
    tree.add_leaf(Tree::kNoLabel, kDigits[random_.below(kDigits.size())]);
    // An argument is complete. If it was the last, its operator is complete, which is an argument
    // itself.
    while (!missing.empty()) {
      tree.add_parent(Tree::kNoLabel, 2);
      if (--missing.back() != 0) break;
      missing.pop_back();
      tree.add_leaf(Tree::kNoLabel, "]");
      tree.add_parent(Tree::kNoLabel, 2);
    }
  } while (!missing.empty());
  return operators >= options_.min_operators;
}

Tree ListOpsGenerator::generate() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Tree tree;
    if (!try_generate(tree)) continue;
    const std::vector<std::int32_t> values = listops_values(tree);
    for (std::uint32_t node = 0; node < tree.size(); ++node) tree.set_label(node, values[node]);
    return tree;
  }
  throw UsageError("[listops generator] need options that fit more than one draw in a million");
}

std::vector<Tree> ListOpsGenerator::generate_distinct(std::size_t count,
                                                      std::unordered_set<std::string>& seen) {
  std::vector<Tree> trees;
  for (int attempt = 0; trees.size() < count; ++attempt) {
    if (attempt == kAttempts) {
      throw UsageError("[listops generator] need " + std::to_string(count) +
                       " distinct expressions; got " + std::to_string(trees.size()));
    }
    Tree tree = generate();
    if (!seen.insert(listops_string(tree)).second) continue;
    trees.push_back(std::move(tree));
    attempt = -1;
  }
  return trees;
}

std::vector<Tree> ListOpsGenerator::generate_distinct(std::size_t count) {
  std::unordered_set<std::string> seen;
  return generate_distinct(count, seen);
}

TreeSplits listops_splits(const std::string& train_file, const std::string& test_file,
                          const ListOpsSizes& sizes, std::uint64_t seed) {
  TreeSplits splits;
  if (!train_file.empty()) splits.train = read_listops(train_file);
  if (!test_file.empty()) splits.test = read_listops(test_file);
  std::unordered_set<std::string> seen;
  for (const std::vector<Tree>* trees : {&splits.train, &splits.test}) {
    for (const Tree& tree : *trees) seen.insert(listops_string(tree));
  }
  Random random(seed);
  const auto complete = [&](std::vector<Tree>& trees, std::size_t count, std::uint32_t operators) {
    ListOpsGeneratorOptions options;
    options.min_operators = operators;
    options.max_tokens = sizes.max_tokens;
    if (trees.empty()) trees = ListOpsGenerator(random, options).generate_distinct(count, seen);
  };
  complete(splits.dev, sizes.dev, 3);
  complete(splits.test, sizes.test, 3);
  complete(splits.train, sizes.train, 1);
  return splits;
}

}  // namespace dynet_like::nn
