// Transition systems: a labelled dependency tree by steps from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dynet_like::nn {

/// What a transition does with the stack and the buffer: the table in parser_state.cpp has it for
/// each system. `reduce` is one of arc-eager only.
enum class TransitionKind : std::uint8_t { shift, left, right, reduce };

/// A kind, and the label of the arc that `left` and `right` make.
struct LabelledTransition {
  TransitionKind kind = TransitionKind::shift;
  std::uint32_t label = 0;
  bool operator==(const LabelledTransition&) const = default;
};

/// A transition system and the number of labels. Its transitions have numbers, which are also the
/// rows of scores: 0 is shift, 1 to labels are left, the next are right, the last one of arc-eager
/// is reduce.
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
  /// Both throw UsageError for what the system does not have.
  LabelledTransition transition(std::uint32_t number) const;
  std::uint32_t number(TransitionKind kind, std::uint32_t label = 0) const;
  /// Whether a system can make this tree: all trees without crossing arcs and with one word below
  /// the root, and no others. heads[i] is the head of word i + 1.
  static bool can_make(std::span<const std::uint32_t> heads);
};

/// What a transition has done. All that changes is in it.
struct TransitionStep {
  struct LabelledArc {
    std::uint32_t head = 0, dependant = 0, label = 0;
    bool operator==(const LabelledArc&) const = default;
  };
  TransitionKind kind = TransitionKind::shift;
  std::optional<LabelledArc> arc = {};       ///< that was made
  std::optional<std::uint32_t> pushed = {};  ///< the word that went from the buffer to the stack
  std::optional<std::uint32_t> popped = {};  ///< the word that left the stack
  bool operator==(const TransitionStep&) const = default;
};

/// A sentence on its way to a tree: a plain value. Words have numbers from 1 and wait in a buffer,
/// the root, 0, behind the last (Ballesteros and Nivre 2013); the stack is empty at first. It is
/// done when all words have heads: after 2n transitions, in arc-standard after 2n + 1, since the
/// root is shifted there. No transition is made by itself.
class ParserState {
 public:
  /// Throws UsageError for no labels.
  ParserState(const TransitionSystem& system, std::size_t words);
  // To move is to copy: numbers of words fit the lists.
  ParserState(const ParserState&) = default;
  ParserState& operator=(const ParserState&) = default;

  const TransitionSystem& system() const { return system_; }
  bool is_done() const { return attached_ == heads_.size(); }
  /// The transitions that can be made: those after which every word can still get a head, with one
  /// word below the root. At least one until it is done, and none then.
  std::vector<std::uint32_t> allowed() const;
  bool is_allowed(std::uint32_t transition) const;
  /// Throws UsageError unless the transition is allowed.
  TransitionStep apply(std::uint32_t transition);
  /// Makes transitions as long as only one is allowed. A parser need not score these.
  std::vector<TransitionStep> apply_forced();

  /// The word so far below the top of the stack, or behind the first of the buffer; 0 if there is
  /// none.
  std::uint32_t stack(std::size_t depth) const {
    return depth < stack_.size() ? stack_[stack_.size() - 1 - depth] : 0;
  }
  std::uint32_t buffer(std::size_t place = 0) const {
    return next_ + place <= heads_.size() ? static_cast<std::uint32_t>(next_ + place) : 0;
  }
  /// In words; the root is one of them.
  std::size_t stack_size() const { return stack_.size(); }
  std::size_t buffer_size() const { return heads_.size() + 2 - next_; }
  /// Those of word i + 1; 0 until it has a head.
  const std::vector<std::uint32_t>& heads() const { return heads_; }
  const std::vector<std::uint32_t>& labels() const { return labels_; }

  // The oracles compare with a tree. Without labels, those of arcs do not count. All throw
  // UsageError unless there are as many heads as words, all of them words or 0, and as many labels
  // or none.

  /// The static oracle, of all systems: a transition on the way to the tree, which makes arcs as
  /// soon as it can. Throws UsageError if there is none: for a tree that cannot be made, at the
  /// latest where it fails, or if the state has left the way.
  std::uint32_t oracle(std::span<const std::uint32_t> heads,
                       std::span<const std::uint32_t> labels = {}) const;

  /// How many words have a wrong head or label in the best tree that can be reached: the dynamic
  /// oracles of Goldberg and Nivre for arc-eager (2012) and arc-hybrid (2013), with one word below
  /// the root. Exact for trees that can be made; for others it may be too small, and every
  /// transition may cost something. Throws UsageError for arc-standard.
  std::size_t loss(std::span<const std::uint32_t> heads,
                   std::span<const std::uint32_t> labels = {}) const;
  /// By how much a transition raises the loss. Throws UsageError unless it is allowed.
  std::size_t cost(std::uint32_t transition, std::span<const std::uint32_t> heads,
                   std::span<const std::uint32_t> labels = {}) const;
  /// The allowed transitions that cost nothing, at least one for a tree that can be made until it
  /// is done, and the others.
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
  void check(std::uint32_t transition) const;
  void check_tree(std::span<const std::uint32_t> heads,
                  std::span<const std::uint32_t> labels) const;

  TransitionSystem system_;
  std::vector<std::uint32_t> heads_, labels_, stack_;
  std::vector<bool> has_head_;
  std::uint32_t next_ = 1;  ///< the buffer has this word and all after it, and the root
  std::size_t attached_ = 0;
};

}  // namespace dynet_like::nn
