// Transition systems and their oracles, against all sequences of transitions of short sentences.
#include <set>

#include "nn/data/conllu.h"
#include "nn/data/vocabulary.h"
#include "tests/support/all_trees.h"
#include "tests/support/file_errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr TransitionSystem kStandard{TransitionSystem::arc_standard};
constexpr TransitionSystem kEager{TransitionSystem::arc_eager};
constexpr TransitionSystem kHybrid{TransitionSystem::arc_hybrid};

class AllSystems : public ::testing::TestWithParam<TransitionSystem> {};
INSTANTIATE_TEST_SUITE_P(ParserStateTest, AllSystems,
                         ::testing::Values(kStandard, kEager, kHybrid));
class DynamicOracle : public ::testing::TestWithParam<TransitionSystem> {};
INSTANTIATE_TEST_SUITE_P(ParserStateTest, DynamicOracle, ::testing::Values(kEager, kHybrid));

template <class Visit>
void visit_ends(const ParserState& state, const Visit& visit) {
  const std::vector<std::uint32_t> allowed = state.allowed();
  EXPECT_EQ(allowed.empty(), state.is_done());
  if (allowed.empty()) return visit(state);
  for (const std::uint32_t transition : allowed) {
    ParserState after = state;
    after.apply(transition);
    visit_ends(after, visit);
  }
}

TEST_P(AllSystems, MakesAllProjectiveTreesWithOneRootAndNoOthers) {
  for (unsigned words = 1; words <= 6; ++words) {
    std::set<Heads> made;
    visit_ends({GetParam(), words}, [&](const ParserState& state) { made.insert(state.heads()); });
    const std::vector<Heads> trees = all_projective_trees(words, Roots::one);
    EXPECT_EQ(made, std::set<Heads>(trees.begin(), trees.end())) << words;
  }
  EXPECT_TRUE(ParserState(GetParam(), 0).is_done());
}

TEST_P(AllSystems, TheStaticOracleMakesEveryTreeAndLabel) {
  const TransitionSystem system{GetParam().arcs, 3};
  for (unsigned words = 1; words <= 7; ++words) {
    for (const Heads& heads : all_projective_trees(words, Roots::one)) {
      std::vector<std::uint32_t> labels;
      for (unsigned i = 0; i < words; ++i) labels.push_back((heads[i] + 2 * i) % 3);
      ParserState state(system, words);
      unsigned steps = 0;
      for (; !state.is_done(); ++steps) {
        const std::uint32_t transition = state.oracle(heads, labels);
        ASSERT_TRUE(state.is_allowed(transition));
        state.apply(transition);
      }
      EXPECT_EQ(state.heads(), heads);
      EXPECT_EQ(state.labels(), labels);
      EXPECT_EQ(steps, 2 * words + (system.arcs == TransitionSystem::arc_standard));
    }
  }
}

TEST_P(AllSystems, StepsTellAllThatChanges) {
  std::vector<std::uint32_t> stack;
  std::map<std::uint32_t, std::uint32_t> heads;
  const Heads tree = {2, 5, 4, 2, 0, 5};
  unsigned next = 1;
  for (ParserState state(GetParam(), tree.size()); !state.is_done();) {
    const TransitionStep step = state.apply(state.oracle(tree));
    if (step.arc) heads[step.arc->dependant] = step.arc->head;
    if (step.popped) std::erase(stack, *step.popped);
    if (step.pushed) {
      EXPECT_EQ(*step.pushed, next <= tree.size() ? next : 0);
      stack.push_back(*step.pushed);
      ++next;
    }
    ASSERT_EQ(state.stack_size(), stack.size());
    for (unsigned i = 0; i < stack.size(); ++i) {
      EXPECT_EQ(state.stack(i), stack[stack.size() - 1 - i]);
    }
    EXPECT_EQ(state.buffer_size(), tree.size() + 2 - next);
    EXPECT_EQ(state.buffer(), next <= tree.size() ? next : 0);
    EXPECT_EQ(state.buffer(1), next + 1 <= tree.size() ? next + 1 : 0);
    for (const auto& [dependant, head] : heads) EXPECT_EQ(state.heads()[dependant - 1], head);
  }
  EXPECT_EQ(heads.size(), tree.size());
}

TEST_P(AllSystems, ForcedStepsAreReported) {
  ParserState state(GetParam(), 1);
  const std::vector<TransitionStep> steps = state.apply_forced();
  EXPECT_TRUE(state.is_done());
  EXPECT_EQ(steps.size(), GetParam().arcs == TransitionSystem::arc_standard ? 3u : 2u);
  EXPECT_EQ(steps.front().pushed, 1u);
  EXPECT_EQ(steps.back().arc, (TransitionStep::LabelledArc{0, 1, 0}));
  EXPECT_EQ(steps.back().popped, 1u);
  EXPECT_TRUE(state.apply_forced().empty());
}

TEST_P(AllSystems, TransitionsHaveNumbers) {
  const TransitionSystem system{GetParam().arcs, 4};
  const bool is_eager = system.arcs == TransitionSystem::arc_eager;
  EXPECT_EQ(system.size(), is_eager ? 10u : 9u);
  for (std::uint32_t i = 0; i < system.size(); ++i) {
    const auto [kind, label] = system.transition(i);
    EXPECT_EQ(system.number(kind, label), i);
  }
  EXPECT_EQ(system.transition(4), (LabelledTransition{TransitionKind::left, 3}));
  EXPECT_EQ(system.transition(5), (LabelledTransition{TransitionKind::right, 0}));
  EXPECT_THROW(system.transition(system.size()), UsageError);
  EXPECT_THROW(system.number(TransitionKind::left, 4), UsageError);
  EXPECT_THROW(system.number(TransitionKind::shift, 1), UsageError);
  if (!is_eager) {
    EXPECT_THROW(system.number(TransitionKind::reduce), UsageError);
  }
}

TEST_P(AllSystems, RefusesWhatIsNotAllowed) {
  ParserState state(GetParam(), 2);
  EXPECT_THROW(state.apply(1), UsageError);  // nothing is on the stack
  EXPECT_THROW(state.apply(GetParam().size()), UsageError);
  EXPECT_THROW(state.oracle(Heads{0}), UsageError);
  EXPECT_THROW(state.oracle(Heads{0, 1}, Heads{0}), UsageError);
  EXPECT_THROW(state.oracle(Heads{3, 0}), UsageError);
  state.apply(0);
  EXPECT_EQ(state.stack(0), 1u);
  EXPECT_THROW(ParserState({GetParam().arcs, 0}, 2), UsageError);
}

// Trees that cannot be made are refused where the oracle fails.
TEST_P(AllSystems, TheStaticOracleRefusesOtherTrees) {
  for (const Heads& heads : all_trees(4, Roots::any)) {
    const auto follow = [&] {
      ParserState state(GetParam(), heads.size());
      while (!state.is_done()) state.apply(state.oracle(heads));
      EXPECT_EQ(state.heads(), heads);
    };
    if (TransitionSystem::can_make(heads)) {
      follow();
    } else {
      EXPECT_THROW(follow(), UsageError) << ::testing::PrintToString(heads);
    }
  }
  EXPECT_FALSE(TransitionSystem::can_make(Heads{3, 4, 4, 0}));  // arcs cross
  EXPECT_FALSE(TransitionSystem::can_make(Heads{0, 0}));
  EXPECT_FALSE(TransitionSystem::can_make(Heads{2, 1, 0}));
  EXPECT_FALSE(TransitionSystem::can_make(Heads{0, 9}));
}

std::size_t wrong_words(const ParserState& end, const Heads& heads, const Heads& labels) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    wrong += end.heads()[i] != heads[i] || (!labels.empty() && end.labels()[i] != labels[i]);
  }
  return wrong;
}

// Compares losses and costs in this state and all that follow with the trees that can be reached,
// and returns the least number of wrong words there.
std::size_t check_costs(const ParserState& state, const Heads& heads, const Heads& labels) {
  if (state.is_done()) return wrong_words(state, heads, labels);
  std::vector<std::size_t> wrong;
  const std::vector<std::uint32_t> allowed = state.allowed();
  for (const std::uint32_t transition : allowed) {
    ParserState after = state;
    after.apply(transition);
    wrong.push_back(check_costs(after, heads, labels));
  }
  const std::size_t least = *std::min_element(wrong.begin(), wrong.end());
  EXPECT_EQ(state.loss(heads, labels), least);
  ParserState::Judged expected;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(state.cost(allowed[i], heads, labels), wrong[i] - least);
    (wrong[i] == least ? expected.right : expected.wrong).push_back(allowed[i]);
  }
  const ParserState::Judged judged = state.judge(heads, labels);
  EXPECT_EQ(judged.right, expected.right);
  EXPECT_EQ(judged.wrong, expected.wrong);
  return least;
}

TEST_P(DynamicOracle, LossesAreThoseOfTheBestTreeThatCanBeReached) {
  for (unsigned words = 1; words <= 5; ++words) {
    for (const Heads& heads : all_projective_trees(words, Roots::one)) {
      EXPECT_EQ(check_costs({GetParam(), words}, heads, {}), 0u);
      if (HasFailure()) FAIL() << ::testing::PrintToString(heads);
    }
  }
  for (const Heads& heads : all_projective_trees(6, Roots::one)) {
    if (heads[2] > 3 || heads[4] > 2) continue;  // a part of them, for the time it takes
    EXPECT_EQ(check_costs({GetParam(), 6}, heads, {}), 0u);
    if (HasFailure()) FAIL() << ::testing::PrintToString(heads);
  }
}

TEST_P(DynamicOracle, WrongLabelsCost) {
  const TransitionSystem system{GetParam().arcs, 2};
  for (unsigned words = 1; words <= 3; ++words) {
    for (const Heads& heads : all_projective_trees(words, Roots::one)) {
      Heads labels;
      for (unsigned i = 0; i < words; ++i) labels.push_back((heads[i] + i) % 2);
      EXPECT_EQ(check_costs({system, words}, heads, labels), 0u);
      if (HasFailure()) FAIL() << ::testing::PrintToString(heads);
    }
  }
}

// Of trees that cannot be made, losses are bounds.
TEST_P(DynamicOracle, LossesOfOtherTreesAreNotTooLarge) {
  for (const Heads& heads : all_trees(4, Roots::any)) {
    for (ParserState state(GetParam(), 4); !state.is_done();) {
      std::size_t least = 4;
      visit_ends(state, [&](const ParserState& end) {
        least = std::min(least, wrong_words(end, heads, {}));
      });
      EXPECT_LE(state.loss(heads), least);
      const ParserState::Judged judged = state.judge(heads);
      for (const std::uint32_t wrong : judged.wrong) EXPECT_LE(state.cost(wrong, heads), 4u);
      EXPECT_EQ(judged.right.size() + judged.wrong.size(), state.allowed().size());
      state.apply(state.allowed().back());
    }
  }
}

TEST(ParserStateTest, SystemsWithLabelsCompareThem) {
  const ParserState state({TransitionSystem::arc_hybrid, 3}, 2);
  EXPECT_EQ(message_of<UsageError>([&] {
              state.judge(Heads{0, 1});
            }),
            "[ParserState] need the heads of 2 words, and as many labels; got 2 and 0");
  EXPECT_EQ(state.judge(Heads{0, 1}, Heads{2, 1}).right, (Heads{0}));
}

TEST(ParserStateTest, ArcStandardHasNoCosts) {
  const ParserState state(kStandard, 2);
  const std::string message = message_of<UsageError>([&] { state.judge(Heads{0, 1}); });
  EXPECT_NE(message.find("got arc-standard"), std::string::npos) << message;
}

TEST_P(AllSystems, MakeTheProjectiveTreesOfTheEnglishWebTreebank) {
  const std::string path = data_file("ud_english_ewt/en_ewt-ud-test.conllu");
  if (path.empty()) {
    GTEST_SKIP() << "needs ud_english_ewt in the folder that DYNET_LIKE_DATA names";
  }
  const std::vector<ConlluSentence> sentences = read_conllu(path);
  Vocabulary names;
  for (const ConlluSentence& sentence : sentences) {
    names.add_all(sentence.column(&ConlluColumns::deprel));
  }
  const TransitionSystem system{GetParam().arcs, names.size()};
  const bool has_costs = system.arcs != TransitionSystem::arc_standard;
  std::size_t made = 0;
  for (const ConlluSentence& sentence : sentences) {
    const Heads heads = sentence.heads();
    const Heads labels = names.ids(sentence.column(&ConlluColumns::deprel));
    if (!TransitionSystem::can_make(heads)) continue;
    ParserState state(system, heads.size());
    while (!state.is_done()) state.apply(state.oracle(heads, labels));
    EXPECT_EQ(state.heads(), heads);
    EXPECT_EQ(state.labels(), labels);
    if (has_costs) {
      EXPECT_EQ(state.loss(heads, labels), 0u);
      ParserState other(system, heads.size());
      while (!other.is_done()) other.apply(other.judge(heads, labels).right.back());
      EXPECT_EQ(other.heads(), heads);
      EXPECT_EQ(other.labels(), labels);
    }
    ++made;
  }
  EXPECT_EQ(made, 2077u - 26u);
}

}  // namespace
}  // namespace dynet_like::nn
