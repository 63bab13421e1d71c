// The arc-hybrid transition system, and how much every transition costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dynet_like::examples {

enum class Transition : unsigned { shift, left, right };
inline constexpr std::array kTransitions = {Transition::shift, Transition::left, Transition::right};

/// Makes the tree of a sentence by decisions from left to right (Kuhlmann et al. 2011). Words wait
/// in a buffer, are shifted onto a stack, and leave it with a head: `left`, the first word of the
/// buffer, or `right`, the word below. The word that is left at the end has the root, 0, as head.
///
/// What can go one way only is done at once, so that the stack and the buffer have a word each
/// whenever a decision is due. Words have numbers from 1.
class ArcHybrid {
 public:
  explicit ArcHybrid(std::size_t words);

  /// Whether all words have heads.
  bool is_done() const { return stack_.empty(); }
  /// `right` needs two words on the stack; the others can always be chosen.
  bool can(Transition transition) const {
    return !is_done() && (transition != Transition::right || stack_.size() > 1);
  }
  /// Throws UsageError unless it can be chosen.
  void apply(Transition transition);

  /// The word so far below the top of the stack; 0 if there is none.
  std::uint32_t stack(std::size_t depth) const {
    return depth < stack_.size() ? stack_[stack_.size() - 1 - depth] : 0;
  }
  /// The first word of the buffer; as long as a decision is due.
  std::uint32_t buffer() const { return next_; }
  /// heads()[i] is that of word i + 1; 0 until it has one.
  const std::vector<std::uint32_t>& heads() const { return heads_; }

  /// How many arcs of a tree can be had before this transition, and not after it: the dynamic
  /// oracle of Goldberg and Nivre (2013, section 4.3), for trees with one word below the root. The
  /// tree must be projective: then one of the transitions costs nothing, in every state.
  unsigned cost(Transition transition, std::span<const std::uint32_t> tree) const;

 private:
  void attach(std::uint32_t head);
  void settle();

  std::vector<std::uint32_t> heads_, stack_;
  std::uint32_t next_ = 1;  ///< the buffer has this word and all after it
};

}  // namespace dynet_like::examples
