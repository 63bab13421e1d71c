// The arc-hybrid transition system: a dependency tree by decisions from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::nn {

/// A sentence on its way to a tree (Kuhlmann et al. 2011). Words wait in a buffer, are shifted onto
/// a stack, and leave it with a head. The word that is left at the end hangs on the root, 0. So all
/// projective trees with one word below the root can be made, and no others.
///
/// What can go one way only is done at once: wherever a decision is due, there are a word on the
/// stack and one in the buffer. Words have numbers from 1.
class ArcHybrid {
 public:
  /// Also the rows of scores. The word on top goes to the `left` if the first word of the buffer is
  /// its head, to the `right` if the word below it is.
  enum Transition : std::uint32_t { kShift, kLeft, kRight };
  static constexpr std::uint32_t kTransitions = 3;

  explicit ArcHybrid(std::size_t words);
  /// Whether transitions can make this tree: heads[i] is the head of word i + 1.
  static bool can_make(std::span<const std::uint32_t> heads);

  /// Whether all words have heads.
  bool is_done() const { return stack_.empty(); }
  /// The transitions that can be made: `kRight` needs two words on the stack. None at the end.
  std::vector<std::uint32_t> allowed() const;
  /// Throws UsageError unless the transition is allowed.
  void apply(std::uint32_t transition);

  /// The word so far below the top of the stack; 0 if there is none.
  std::uint32_t stack(std::size_t depth) const {
    return depth < stack_.size() ? stack_[stack_.size() - 1 - depth] : 0;
  }
  /// The first word of the buffer; 0 at the end.
  std::uint32_t buffer() const { return is_done() ? 0 : next_; }
  /// heads()[i] is that of word i + 1; 0 until it has one.
  const std::vector<std::uint32_t>& heads() const { return heads_; }

  /// How many arcs of a tree can be had before this transition, and not after it: the dynamic
  /// oracle of Goldberg and Nivre (2013, section 4.3), for trees that transitions can make. Throws
  /// UsageError unless the transition is allowed and there are as many heads as words.
  std::size_t cost(std::uint32_t transition, std::span<const std::uint32_t> tree) const;
  /// The allowed transitions that cost nothing, at least one as long as a decision is due, and the
  /// others. Throws UsageError unless there are as many heads as words.
  struct Judged {
    std::vector<std::uint32_t> right, wrong;
  };
  Judged judge(std::span<const std::uint32_t> tree) const;

 private:
  bool is_allowed(std::uint32_t transition) const;
  void check(std::uint32_t transition) const;
  void check_size(std::span<const std::uint32_t> tree) const;
  void attach(std::uint32_t head);
  void settle();

  std::vector<std::uint32_t> heads_, stack_;
  std::uint32_t next_ = 1;  ///< the buffer has this word and all after it
};

}  // namespace dynet_like::nn
