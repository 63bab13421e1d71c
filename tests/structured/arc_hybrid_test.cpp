// The arc-hybrid transition system and its dynamic oracle, against all trees of short sentences.
#include "nn/structured/arc_hybrid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {
namespace {

using Tree = std::vector<std::uint32_t>;

// Of so many words, all that can be made.
std::vector<Tree> possible_trees(std::size_t words) {
  std::vector<Tree> trees;
  Tree heads(words, 0);
  for (;;) {
    if (ArcHybrid::can_make(heads)) trees.push_back(heads);
    std::size_t i = 0;
    while (i < words && heads[i] == words) heads[i++] = 0;
    if (i == words) return trees;
    ++heads[i];
  }
}

template <class Visit>
void visit_ends(const ArcHybrid& state, const Visit& visit) {
  if (state.is_done()) return visit(state);
  for (const std::uint32_t transition : state.allowed()) {
    ArcHybrid after = state;
    after.apply(transition);
    visit_ends(after, visit);
  }
}

std::size_t wrong_heads(const Tree& found, const Tree& tree) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) wrong += found[i] != tree[i];
  return wrong;
}

// Compares the costs in this state and in all that follow with the trees that can be reached, and
// returns the least number of wrong heads there.
std::size_t check_costs(const ArcHybrid& state, const Tree& tree) {
  if (state.is_done()) return wrong_heads(state.heads(), tree);
  std::vector<std::size_t> wrong, costs;
  for (const std::uint32_t transition : state.allowed()) {
    ArcHybrid after = state;
    after.apply(transition);
    wrong.push_back(check_costs(after, tree));
    costs.push_back(state.cost(transition, tree));
  }
  const std::size_t least = *std::min_element(wrong.begin(), wrong.end());
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(costs[i], wrong[i] - least);
  const ArcHybrid::Judged judged = state.judge(tree);
  EXPECT_FALSE(judged.right.empty());
  EXPECT_EQ(judged.right.size(), static_cast<std::size_t>(std::ranges::count(costs, 0u)));
  EXPECT_EQ(judged.right.size() + judged.wrong.size(), costs.size());
  for (const std::uint32_t transition : judged.right) EXPECT_EQ(state.cost(transition, tree), 0u);
  return least;
}

TEST(ArcHybridTest, MakesAllProjectiveTreesAndNoOthers) {
  for (std::size_t words = 1; words <= 6; ++words) {
    std::set<Tree> made;
    visit_ends(ArcHybrid(words), [&](const ArcHybrid& state) { made.insert(state.heads()); });
    const std::vector<Tree> trees = possible_trees(words);
    EXPECT_EQ(made, std::set<Tree>(trees.begin(), trees.end())) << words;
  }
  EXPECT_TRUE(ArcHybrid::can_make(Tree{2, 0, 2}));
  EXPECT_FALSE(ArcHybrid::can_make(Tree{3, 4, 4, 0}));  // arcs cross
  EXPECT_FALSE(ArcHybrid::can_make(Tree{0, 0}));
  EXPECT_FALSE(ArcHybrid::can_make(Tree{2, 1, 0}));
  EXPECT_FALSE(ArcHybrid::can_make(Tree{0, 9}));
}

TEST(ArcHybridTest, CostsAreTheHeadsThatAreLost) {
  for (std::size_t words = 1; words <= 6; ++words) {
    for (const Tree& tree : possible_trees(words)) {
      EXPECT_EQ(check_costs(ArcHybrid(words), tree), 0u);
      if (::testing::Test::HasFailure()) FAIL() << ::testing::PrintToString(tree);
    }
  }
}

TEST(ArcHybridTest, DecisionsNeedAWordOnTheStackAndOneInTheBuffer) {
  using Transitions = std::vector<std::uint32_t>;
  ArcHybrid state(3);
  EXPECT_EQ(state.stack(0), 1u);
  EXPECT_EQ(state.stack(1), 0u);
  EXPECT_EQ(state.buffer(), 2u);
  EXPECT_EQ(state.allowed(), (Transitions{ArcHybrid::kShift, ArcHybrid::kLeft}));
  state.apply(ArcHybrid::kShift);
  EXPECT_EQ(state.stack(0), 2u);
  EXPECT_EQ(state.stack(1), 1u);
  EXPECT_EQ(state.allowed().size(), std::size_t{ArcHybrid::kTransitions});
  state.apply(ArcHybrid::kRight);
  EXPECT_EQ(state.heads()[1], 1u);
  state.apply(ArcHybrid::kLeft);  // the stack is empty now, and then the buffer
  EXPECT_TRUE(state.is_done());
  EXPECT_EQ(state.heads(), (Tree{3, 1, 0}));
  EXPECT_TRUE(state.allowed().empty());
  EXPECT_EQ(state.buffer(), 0u);
  EXPECT_EQ(ArcHybrid(0).heads(), Tree{});
  EXPECT_EQ(ArcHybrid(1).heads(), Tree{0});
}

TEST(ArcHybridTest, RefusesWhatIsNotAllowed) {
  ArcHybrid state(2);
  EXPECT_THROW(state.apply(ArcHybrid::kRight), UsageError);
  EXPECT_THROW(state.apply(ArcHybrid::kTransitions), UsageError);
  EXPECT_THROW(state.cost(ArcHybrid::kRight, Tree{0, 1}), UsageError);
  EXPECT_THROW(state.cost(ArcHybrid::kShift, Tree{0}), UsageError);
  EXPECT_THROW(state.judge(Tree{0, 1, 1}), UsageError);
  state.apply(ArcHybrid::kLeft);
  EXPECT_THROW(state.apply(ArcHybrid::kShift), UsageError);
  EXPECT_TRUE(state.judge(Tree{2, 0}).right.empty());  // no decision is due
  EXPECT_THROW(state.judge(Tree{0}), UsageError);
  EXPECT_EQ(state.heads(), (Tree{2, 0}));
}

}  // namespace
}  // namespace dynet_like::nn
