// The arc-hybrid transition system and its dynamic oracle, against all trees of short sentences.
#include "examples/transition_parser/arc_hybrid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "dynet_like/core/errors.h"
#include "nn/data/dependency_tree.h"

namespace dynet_like::examples {
namespace {

using Tree = std::vector<std::uint32_t>;

// All projective trees of so many words, with one word below the root.
std::vector<Tree> projective_trees(std::size_t words) {
  std::vector<Tree> trees;
  Tree heads(words, 0);
  for (;;) {
    if (nn::is_tree(heads, nn::Roots::one) && nn::is_projective(heads)) trees.push_back(heads);
    std::size_t i = 0;
    while (i < words && heads[i] == words) heads[i++] = 0;
    if (i == words) return trees;
    ++heads[i];
  }
}

template <class Visit>
void visit_ends(const ArcHybrid& state, const Visit& visit) {
  if (state.is_done()) return visit(state);
  for (const Transition transition : kTransitions) {
    if (!state.can(transition)) continue;
    ArcHybrid after = state;
    after.apply(transition);
    visit_ends(after, visit);
  }
}

unsigned wrong_heads(const Tree& found, const Tree& tree) {
  unsigned wrong = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) wrong += found[i] != tree[i];
  return wrong;
}

// Compares the costs in this state and in all that follow with the trees that can be reached, and
// returns the least number of wrong heads there.
unsigned check_costs(const ArcHybrid& state, const Tree& tree) {
  if (state.is_done()) return wrong_heads(state.heads(), tree);
  std::vector<unsigned> wrong, costs;
  for (const Transition transition : kTransitions) {
    if (!state.can(transition)) continue;
    ArcHybrid after = state;
    after.apply(transition);
    wrong.push_back(check_costs(after, tree));
    costs.push_back(state.cost(transition, tree));
  }
  const unsigned least = *std::min_element(wrong.begin(), wrong.end());
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(costs[i], wrong[i] - least);
  return least;
}

TEST(ArcHybridTest, MakesAllProjectiveTreesAndNoOthers) {
  for (std::size_t words = 0; words <= 6; ++words) {
    std::set<Tree> made;
    visit_ends(ArcHybrid(words), [&](const ArcHybrid& state) { made.insert(state.heads()); });
    std::vector<Tree> trees = projective_trees(words);
    if (words == 0) trees = {{}};
    EXPECT_EQ(made, std::set<Tree>(trees.begin(), trees.end())) << words;
  }
}

TEST(ArcHybridTest, CostsAreTheHeadsThatAreLost) {
  for (std::size_t words = 1; words <= 6; ++words) {
    for (const Tree& tree : projective_trees(words)) {
      EXPECT_EQ(check_costs(ArcHybrid(words), tree), 0u);
      if (::testing::Test::HasFailure()) FAIL() << ::testing::PrintToString(tree);
    }
  }
}

TEST(ArcHybridTest, DecisionsNeedAWordOnTheStackAndOneInTheBuffer) {
  ArcHybrid state(3);
  EXPECT_EQ(state.stack(0), 1u);
  EXPECT_EQ(state.stack(1), 0u);
  EXPECT_EQ(state.buffer(), 2u);
  EXPECT_FALSE(state.can(Transition::right));
  EXPECT_THROW(state.apply(Transition::right), UsageError);
  state.apply(Transition::shift);
  EXPECT_EQ(state.stack(0), 2u);
  EXPECT_EQ(state.stack(1), 1u);
  state.apply(Transition::right);
  EXPECT_EQ(state.heads()[1], 1u);
  state.apply(Transition::left);  // the stack is empty now, and then the buffer
  EXPECT_TRUE(state.is_done());
  EXPECT_EQ(state.heads(), (Tree{3, 1, 0}));
  EXPECT_FALSE(state.can(Transition::shift));
  EXPECT_THROW(state.apply(Transition::shift), UsageError);
  EXPECT_TRUE(ArcHybrid(0).is_done());
  EXPECT_EQ(ArcHybrid(1).heads(), Tree{0});
}

}  // namespace
}  // namespace dynet_like::examples
