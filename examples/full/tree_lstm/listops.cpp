// Random ListOps expressions (Nangia and Bowman 2018), drawn token by token.
#include "examples/full/tree_lstm/listops.h"

#include <unordered_set>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "nn/data/listops.h"

namespace dynet_like::examples {

namespace {

using nn::Tree;

/// Adds an expression, of which at most `levels` operators are nested. `room` is how many more
/// tokens it may have than one digit. Returns false if there would be more.
bool add_expression(Tree& tree, Random& random, unsigned levels, std::uint32_t& room) {
  if (levels == 0 || random.uniform() < 0.75) {
    tree.add_leaf(Tree::kNoLabel, std::string(1, static_cast<char>('0' + random.below(10))));
    return true;
  }
  const std::uint32_t arguments = 2 + random.below(4);
  if (arguments + 1 > room) return false;
  room -= arguments + 1;
  tree.add_leaf(Tree::kNoLabel, nn::kListOpsOperators[random.below(4)]);
  for (std::uint32_t i = 0; i < arguments; ++i) {
    if (!add_expression(tree, random, levels - 1, room)) return false;
    tree.add_parent(Tree::kNoLabel, 2);
  }
  tree.add_leaf(Tree::kNoLabel, "]");
  tree.add_parent(Tree::kNoLabel, 2);
  return true;
}

/// Adds labelled expressions that are not in `seen`, and adds them there.
void generate(std::vector<Tree>& trees, std::size_t count, std::uint32_t min_operators,
              std::uint32_t max_tokens, Random& random, std::unordered_set<std::string>& seen) {
  for (int attempt = 0; trees.size() < count; ++attempt) {
    if (attempt == 1'000'000) {
      throw UsageError("[listops_splits] need " + std::to_string(count) +
                       " distinct expressions; got " + std::to_string(trees.size()));
    }
    Tree tree;
    std::uint32_t room = max_tokens - 1;
    if (!add_expression(tree, random, 19, room) || nn::count_operators(tree) < min_operators ||
        !seen.insert(nn::listops_string(tree)).second) {
      continue;
    }
    const std::vector<std::int32_t> values = nn::listops_values(tree);
    for (std::uint32_t node = 0; node < tree.size(); ++node) tree.set_label(node, values[node]);
    trees.push_back(std::move(tree));
    attempt = -1;
  }
}

}  // namespace

nn::TreeSplits listops_splits(const std::string& train_file, const std::string& test_file,
                              const ListOpsSizes& sizes, std::uint64_t seed) {
  nn::TreeSplits splits;
  if (!train_file.empty()) splits.train = nn::read_listops(train_file);
  if (!test_file.empty()) splits.test = nn::read_listops(test_file);
  std::unordered_set<std::string> seen;
  for (const std::vector<Tree>* trees : {&splits.train, &splits.test}) {
    for (const Tree& tree : *trees) seen.insert(nn::listops_string(tree));
  }
  Random random(seed);
  const auto complete = [&](std::vector<Tree>& trees, std::size_t count, std::uint32_t operators) {
    if (trees.empty()) generate(trees, count, operators, sizes.max_tokens, random, seen);
  };
  complete(splits.dev, sizes.dev, 3);
  complete(splits.test, sizes.test, 3);
  complete(splits.train, sizes.train, 1);
  return splits;
}

}  // namespace dynet_like::examples
