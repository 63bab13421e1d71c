// Transition systems, which build a labelled dependency tree from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dynet_like::nn {

/// What a transition does with the stack and the buffer; parser_state.cpp has a table of the
/// effects in each system. Only arc-eager has `reduce`.
enum class TransitionKind : std::uint8_t { shift, left, right, reduce };

/// A kind, and the label of the arc for `left` and `right`.
struct LabelledTransition {
  TransitionKind kind = TransitionKind::shift;
  std::uint32_t label = 0;
  bool operator==(const LabelledTransition&) const = default;
};

/// A transition system and the number of labels. Its transitions are numbered like the rows of
/// scores: 0 is shift, 1 to `labels` are left, the next `labels` are right, and the last one of
/// arc-eager is reduce.
struct TransitionSystem {
  enum Arcs : std::uint8_t {
    arc_standard,  ///< Nivre 2004: both words of an arc are on the stack
    arc_eager,     ///< Nivre 2003: one is on the stack and one in the buffer; reduce
    arc_hybrid,    ///< Kuhlmann et al. 2011: left as in arc-eager, right as in arc-standard
  };
  Arcs arcs = arc_standard;
  std::uint32_t labels = 1;

  /// The number of transitions.
  std::uint32_t size() const { return 1 + 2 * labels + (arcs == arc_eager); }
  /// Both throw UsageError for transitions that the system does not have.
  LabelledTransition transition(std::uint32_t number) const;
  std::uint32_t number(TransitionKind kind, std::uint32_t label = 0) const;
  /// Whether the systems can build this tree: all trees can be built that have no crossing arcs and
  /// one word below the root. heads[i] is the head of word i + 1.
  static bool can_make(std::span<const std::uint32_t> heads);
};

/// All effects of a transition.
struct TransitionStep {
  struct LabelledArc {
    std::uint32_t head = 0, dependant = 0, label = 0;
    bool operator==(const LabelledArc&) const = default;
  };
  TransitionKind kind = TransitionKind::shift;
  std::optional<LabelledArc> arc = {};       ///< the arc that was made
  std::optional<std::uint32_t> pushed = {};  ///< the word that went from the buffer to the stack
  std::optional<std::uint32_t> popped = {};  ///< the word that left the stack
  bool operator==(const TransitionStep&) const = default;
};

/// A partial parse of a sentence, a plain value. Words are numbered from 1 and wait in a buffer,
/// followed by the root, 0 (Ballesteros and Nivre 2013). The stack is empty at first. The parse is
/// done when all words have heads: after 2n transitions, or 2n + 1 in arc-standard, which shifts
/// the root. Transitions are made only by apply() and apply_forced().
class ParserState {
 public:
  /// Throws UsageError for no labels.
  ParserState(const TransitionSystem& system, std::size_t words);
  // Moving copies, so that the state always fits its lists.
  ParserState(const ParserState&) = default;
  ParserState& operator=(const ParserState&) = default;

  const TransitionSystem& system() const { return system_; }
  bool is_done() const { return attached_ == heads_.size(); }
  /// The transitions that can be made: those after which every word can still get a head, with one
  /// word below the root. There is at least one until the parse is done, and none after that.
  std::vector<std::uint32_t> allowed() const;
  bool is_allowed(std::uint32_t transition) const;
  /// Throws UsageError unless the transition is allowed.
  TransitionStep apply(std::uint32_t transition);
  /// Makes transitions while only one is allowed. A parser need not score these.
  std::vector<TransitionStep> apply_forced();

  /// The word `depth` below the top of the stack, or `place` after the first word of the buffer; 0
  /// for the root, and if there is none (see stack_size and buffer_size).
  std::uint32_t stack(std::size_t depth) const {
    return depth < stack_.size() ? stack_[stack_.size() - 1 - depth] : 0;
  }
  std::uint32_t buffer(std::size_t place = 0) const {
    return next_ + place <= heads_.size() ? static_cast<std::uint32_t>(next_ + place) : 0;
  }
  /// Number of words, including the root.
  std::size_t stack_size() const { return stack_.size(); }
  std::size_t buffer_size() const { return heads_.size() + 2 - next_; }
  /// heads()[i] and labels()[i] are those of word i + 1; 0 until it has a head.
  const std::vector<std::uint32_t>& heads() const { return heads_; }
  const std::vector<std::uint32_t>& labels() const { return labels_; }

  // The oracles compare the state with a tree. All throw UsageError unless there are as many heads
  // as words, all in range, and as many labels; a system with one label needs none.

  /// The static oracle, for all systems: a transition that leads to the tree, and makes arcs as
  /// early as possible. Throws UsageError if there is none, because the state has left the way or
  /// the tree cannot be built; the latter may be noticed late.
  std::uint32_t oracle(std::span<const std::uint32_t> heads,
                       std::span<const std::uint32_t> labels = {}) const;

  /// The number of words with a wrong head or label in the best tree that is still reachable: the
  /// dynamic oracles of Goldberg and Nivre for arc-eager (2012) and arc-hybrid (2013), with one
  /// word below the root. It is exact for trees that can be built. For others it may be too small,
  /// and all transitions may have a cost. Throws UsageError for arc-standard.
  std::size_t loss(std::span<const std::uint32_t> heads,
                   std::span<const std::uint32_t> labels = {}) const;
  /// How much a transition raises the loss. Throws UsageError unless it is allowed.
  std::size_t cost(std::uint32_t transition, std::span<const std::uint32_t> heads,
                   std::span<const std::uint32_t> labels = {}) const;
  /// The allowed transitions without cost, and the others. For a tree that can be built there is at
  /// least one of the former until the parse is done.
  struct Judged {
    std::vector<std::uint32_t> right, wrong;
  };
  Judged judge(std::span<const std::uint32_t> heads,
               std::span<const std::uint32_t> labels = {}) const;

 private:
  static constexpr std::uint32_t kNone = ~0u;

  std::uint32_t word_at(std::uint8_t place) const;
  bool is_allowed(TransitionKind kind) const;
  bool has_head(std::uint32_t word) const { return word != 0 && has_head_[word - 1]; }
  bool is_in_buffer(std::uint32_t word) const { return word == 0 || word >= next_; }
  bool is_complete(std::uint32_t word, std::span<const std::uint32_t> heads) const;
  std::size_t unattached() const;
  bool must_lose_last(std::span<const std::uint32_t> heads) const;
  std::size_t lost(std::span<const std::uint32_t> heads,
                   std::span<const std::uint32_t> labels) const;
  std::size_t newly_lost(std::uint32_t transition, std::span<const std::uint32_t> heads,
                         std::span<const std::uint32_t> labels) const;
  void check(std::uint32_t transition) const;
  void check_tree(std::span<const std::uint32_t> heads,
                  std::span<const std::uint32_t> labels) const;

  TransitionSystem system_;
  std::vector<std::uint32_t> heads_, labels_, stack_;
  std::vector<bool> has_head_;
  std::uint32_t next_ = 1;  ///< the buffer has this word and all after it, then the root
  std::size_t attached_ = 0;
};

}  // namespace dynet_like::nn
