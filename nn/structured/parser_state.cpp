// Transition systems: a table of the effects of transitions, and the oracles.
#include "nn/structured/parser_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/data/dependency_tree.h"

namespace dynet_like::nn {

namespace {

enum Place : std::uint8_t { none, top, below, front };  // of the stack; of the buffer

struct Effect {
  Place head, dependant;  ///< of the arc
  bool pushes;            ///< whether the first word of the buffer moves to the stack
  Place popped;           ///< the word that leaves the stack
};

// By system and kind.
constexpr Effect kEffects[3][4] = {
    {{none, none, true, none}, {top, below, false, below}, {below, top, false, top}, {}},
    {{none, none, true, none},
     {front, top, false, top},
     {top, front, true, none},
     {none, none, false, top}},
    {{none, none, true, none}, {front, top, false, top}, {below, top, false, top}, {}}};
constexpr const char* kNames[] = {"arc-standard", "arc-eager", "arc-hybrid"};
constexpr TransitionKind kKinds[] = {TransitionKind::left, TransitionKind::right,
                                     TransitionKind::reduce, TransitionKind::shift};

const Effect& effect_of(const TransitionSystem& system, TransitionKind kind) {
  return kEffects[system.arcs][static_cast<std::size_t>(kind)];
}

bool makes_arc(TransitionKind kind) {
  return kind == TransitionKind::left || kind == TransitionKind::right;
}

bool has_kind(const TransitionSystem& system, TransitionKind kind) {
  return kind != TransitionKind::reduce || system.arcs == TransitionSystem::arc_eager;
}

void check_has_costs(const TransitionSystem& system) {
  if (system.arcs != TransitionSystem::arc_standard) return;
  throw UsageError(
      "[ParserState] need arc-eager or arc-hybrid for costs; got arc-standard, which has a static "
      "oracle only");
}

}  // namespace

LabelledTransition TransitionSystem::transition(std::uint32_t number) const {
  if (number >= size()) {
    throw UsageError(
        fmt::format("[TransitionSystem] need a transition below {}; got {}", size(), number));
  }
  if (number == 0) return {TransitionKind::shift};
  if (number <= labels) return {TransitionKind::left, number - 1};
  if (number <= 2 * labels) return {TransitionKind::right, number - 1 - labels};
  return {TransitionKind::reduce};
}

std::uint32_t TransitionSystem::number(TransitionKind kind, std::uint32_t label) const {
  if (!has_kind(*this, kind) || label >= (makes_arc(kind) ? labels : 1)) {
    throw UsageError(
        fmt::format("[TransitionSystem] need a transition of {} with {}; got kind {} and "
                    "label {}",
                    kNames[arcs], detail::counted(labels, "label"), static_cast<int>(kind), label));
  }
  constexpr std::uint32_t kFirst[] = {0, 1, 1, 1};  // a kind begins at kFirst + kTimes * labels
  constexpr std::uint32_t kTimes[] = {0, 0, 1, 2};
  const auto i = static_cast<std::size_t>(kind);
  return kFirst[i] + kTimes[i] * labels + label;
}

bool TransitionSystem::can_make(std::span<const std::uint32_t> heads) {
  return is_tree(heads, Roots::one) && is_projective(heads);
}

ParserState::ParserState(const TransitionSystem& system, std::size_t words)
    : system_(system), heads_(words), labels_(words), has_head_(words) {
  if (system.labels == 0) throw UsageError("[ParserState] need at least 1 label; got 0");
}

std::uint32_t ParserState::word_at(std::uint8_t place) const {
  if (place == front) return buffer_size() == 0 ? kNone : buffer();
  const std::size_t depth = place == top ? 0 : 1;
  return place != none && depth < stack_.size() ? stack(depth) : kNone;
}

// The number of words on the stack that have no head.
std::size_t ParserState::unattached() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(stack_, [&](std::uint32_t word) { return !has_head(word); }));
}

bool ParserState::is_allowed(TransitionKind kind) const {
  if (is_done() || !has_kind(system_, kind)) return false;
  const Effect& effect = effect_of(system_, kind);
  const std::uint32_t head = word_at(effect.head), dependant = word_at(effect.dependant);
  if (makes_arc(kind)) {
    if (head == kNone || dependant == kNone || dependant == 0 || has_head(dependant)) return false;
    if (effect.head == front && head == 0 && stack_.size() > 1) return false;
  }
  if (kind == TransitionKind::reduce) return !stack_.empty() && has_head(stack_.back());
  if (!effect.pushes) return true;
  // Only arc-standard shifts the root, when one word is left on the stack. In arc-eager, words
  // cannot get each other as heads after the last shift, so one without a head must be left then.
  if (system_.arcs == TransitionSystem::arc_standard) {
    return buffer_size() > 1 || (buffer_size() == 1 && stack_.size() == 1);
  }
  if (buffer_size() == 1) return false;
  return system_.arcs != TransitionSystem::arc_eager || buffer_size() > 2 ||
         unattached() + !makes_arc(kind) == 1;
}

bool ParserState::is_allowed(std::uint32_t transition) const {
  return transition < system_.size() && is_allowed(system_.transition(transition).kind);
}

std::vector<std::uint32_t> ParserState::allowed() const {
  bool kinds[4];
  for (const TransitionKind kind : kKinds) kinds[static_cast<int>(kind)] = is_allowed(kind);
  std::vector<std::uint32_t> allowed;
  for (std::uint32_t i = 0; i < system_.size(); ++i) {
    if (kinds[static_cast<int>(system_.transition(i).kind)]) allowed.push_back(i);
  }
  return allowed;
}

void ParserState::check(std::uint32_t transition) const {
  if (is_allowed(transition)) return;
  throw UsageError(
      fmt::format("[ParserState] need a transition of {} that is allowed; got {} of {} with {} "
                  "words on the stack and {} in the buffer",
                  kNames[system_.arcs], transition, system_.size(), stack_size(), buffer_size()));
}

TransitionStep ParserState::apply(std::uint32_t transition) {
  check(transition);
  const auto [kind, label] = system_.transition(transition);
  const Effect& effect = effect_of(system_, kind);
  TransitionStep step{kind, {}, {}, {}};
  if (effect.pushes) step.pushed = buffer();
  if (effect.popped != none) step.popped = word_at(effect.popped);
  if (makes_arc(kind)) {
    step.arc = {word_at(effect.head), word_at(effect.dependant), label};
    heads_[step.arc->dependant - 1] = step.arc->head;
    labels_[step.arc->dependant - 1] = label;
    has_head_[step.arc->dependant - 1] = true;
    ++attached_;
  }
  if (step.popped) stack_.erase(stack_.end() - (effect.popped == top ? 1 : 2));
  if (step.pushed) {
    stack_.push_back(*step.pushed);
    ++next_;
  }
  return step;
}

std::vector<TransitionStep> ParserState::apply_forced() {
  std::vector<TransitionStep> steps;
  for (;;) {
    const std::vector<std::uint32_t> only = allowed();
    if (only.size() != 1) return steps;
    steps.push_back(apply(only.front()));
  }
}

void ParserState::check_tree(std::span<const std::uint32_t> heads,
                             std::span<const std::uint32_t> labels) const {
  const std::size_t words = heads_.size();
  const auto no_word = std::ranges::find_if(heads, [&](auto head) { return head > words; });
  if (no_word != heads.end()) {
    throw UsageError(fmt::format("[ParserState] need heads from 0 to {}; got {}", words, *no_word));
  }
  const bool needs_labels = system_.labels > 1 || !labels.empty();
  if (heads.size() == words && (!needs_labels || labels.size() == words)) return;
  throw UsageError(fmt::format(
      "[ParserState] need the heads of {}{}; got {} and {}", detail::counted(words, "word"),
      needs_labels ? ", and as many labels" : "", heads.size(), labels.size()));
}

// Whether the word has all its dependants.
bool ParserState::is_complete(std::uint32_t word, std::span<const std::uint32_t> heads) const {
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == word && !(has_head_[i] && heads_[i] == word)) return false;
  }
  return true;
}

std::uint32_t ParserState::oracle(std::span<const std::uint32_t> heads,
                                  std::span<const std::uint32_t> labels) const {
  check_tree(heads, labels);
  for (const TransitionKind kind : kKinds) {
    if (!is_allowed(kind)) continue;
    const Effect& effect = effect_of(system_, kind);
    const std::uint32_t dependant = word_at(effect.dependant), popped = word_at(effect.popped);
    if (makes_arc(kind) && heads[dependant - 1] != word_at(effect.head)) continue;
    if (popped != kNone && !is_complete(popped, heads)) continue;
    return system_.number(kind, makes_arc(kind) && !labels.empty() ? labels[dependant - 1] : 0);
  }
  throw UsageError(
      fmt::format("[ParserState] need a tree without crossing arcs, with one word below the root, "
                  "that can be made from here; got no transition for it with {} on the stack "
                  "and {} in the buffer",
                  detail::counted(stack_size(), "word"), buffer_size()));
}

// Arc-eager: follows heads from the last word to a word on the stack. That word can either get its
// last dependant or be finished in time, but not both, so one more head is lost. Only the lowest
// word of the stack may wait for the root; any other whose own head is lost needs one from the
// buffer, whose last words are its own dependants.
bool ParserState::must_lose_last(std::span<const std::uint32_t> heads) const {
  if (system_.arcs != TransitionSystem::arc_eager || buffer_size() < 2) return false;
  auto word = static_cast<std::uint32_t>(heads.size());
  // The limit stops cycles of heads.
  for (std::size_t i = 0; i < heads.size() && word >= next_; ++i) word = heads[word - 1];
  if (word == 0 || word >= next_ || std::ranges::find(stack_, word) == stack_.end()) return false;
  while (has_head(word)) word = heads_[word - 1];
  return word != stack_.front() && (heads[word - 1] == 0 || !is_in_buffer(heads[word - 1]));
}

std::size_t ParserState::lost(std::span<const std::uint32_t> heads,
                              std::span<const std::uint32_t> labels) const {
  const bool is_hybrid = system_.arcs == TransitionSystem::arc_hybrid;
  std::vector<std::uint32_t> place(heads.size() + 1, kNone);  // on the stack
  for (std::uint32_t i = 0; i < stack_.size(); ++i) place[stack_[i]] = i;
  const auto can_get_head = [&](std::uint32_t word, std::uint32_t head) {
    if (word >= next_) return is_in_buffer(head) || place[head] != kNone;
    if (head == 0) return place[word] == 0;
    return is_in_buffer(head) ||
           (is_hybrid && place[head] != kNone && place[head] + 1 == place[word]);
  };
  std::size_t lost = must_lose_last(heads);
  for (std::uint32_t word = 1; word <= heads.size(); ++word) {
    const std::size_t i = word - 1;
    if (has_head_[i]) {
      lost += heads_[i] != heads[i] || (!labels.empty() && labels_[i] != labels[i]);
    } else {
      lost += !can_get_head(word, heads[i]);
    }
  }
  return lost;
}

// With crossing arcs, the bound may become smaller.
std::size_t ParserState::newly_lost(std::uint32_t transition, std::span<const std::uint32_t> heads,
                                    std::span<const std::uint32_t> labels) const {
  ParserState after = *this;
  after.apply(transition);
  const std::size_t before = lost(heads, labels);
  return std::max(after.lost(heads, labels), before) - before;
}

std::size_t ParserState::loss(std::span<const std::uint32_t> heads,
                              std::span<const std::uint32_t> labels) const {
  check_tree(heads, labels);
  check_has_costs(system_);
  return lost(heads, labels);
}

std::size_t ParserState::cost(std::uint32_t transition, std::span<const std::uint32_t> heads,
                              std::span<const std::uint32_t> labels) const {
  check_tree(heads, labels);
  check_has_costs(system_);
  return newly_lost(transition, heads, labels);
}

ParserState::Judged ParserState::judge(std::span<const std::uint32_t> heads,
                                       std::span<const std::uint32_t> labels) const {
  check_tree(heads, labels);
  check_has_costs(system_);
  Judged judged;
  std::size_t costs[4];
  for (const TransitionKind kind : kKinds) {
    if (is_allowed(kind))
      costs[static_cast<int>(kind)] = newly_lost(system_.number(kind), heads, {});
  }
  for (const std::uint32_t transition : allowed()) {
    const auto [kind, label] = system_.transition(transition);
    const std::uint32_t dependant = word_at(effect_of(system_, kind).dependant);
    const bool is_wrong_label = makes_arc(kind) && !labels.empty() &&
                                label != labels[dependant - 1] &&
                                heads[dependant - 1] == word_at(effect_of(system_, kind).head);
    const bool is_right = costs[static_cast<int>(kind)] == 0 && !is_wrong_label;
    (is_right ? judged.right : judged.wrong).push_back(transition);
  }
  return judged;
}

}  // namespace dynet_like::nn
