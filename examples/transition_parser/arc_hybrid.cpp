// The arc-hybrid transition system: transitions and their costs.
#include "examples/transition_parser/arc_hybrid.h"

#include <algorithm>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

ArcHybrid::ArcHybrid(std::size_t words) : heads_(words) { settle(); }

void ArcHybrid::apply(Transition transition) {
  if (!can(transition)) {
    throw UsageError("[ArcHybrid] need a transition that can be chosen; got number " +
                     std::to_string(static_cast<unsigned>(transition)) + " with " +
                     std::to_string(stack_.size()) + " words on the stack");
  }
  switch (transition) {
    case Transition::shift:
      stack_.push_back(next_++);
      break;
    case Transition::left:
      attach(next_);
      break;
    case Transition::right:
      attach(stack(1));
      break;
  }
  settle();
}

// Gives the word on top its head.
void ArcHybrid::attach(std::uint32_t head) {
  heads_[stack_.back() - 1] = head;
  stack_.pop_back();
}

// Does what has no alternative: the first word goes to an empty stack, and when the buffer is
// empty, every word gets the one below as head, and the last one the root, which is stack(1) then.
void ArcHybrid::settle() {
  const bool has_buffer = next_ <= heads_.size();
  if (has_buffer && stack_.empty()) stack_.push_back(next_++);
  if (next_ <= heads_.size()) return;
  while (!stack_.empty()) attach(stack(1));
}

unsigned ArcHybrid::cost(Transition transition, std::span<const std::uint32_t> tree) const {
  const auto head_of = [&](std::uint32_t word) { return tree[word - 1]; };
  if (transition == Transition::shift) {
    // The word gets no more dependants from the stack, and its head only from the top of that, or
    // from the buffer.
    const auto below = stack_.end() - 1;
    const bool loses_head =
        head_of(next_) == 0 || std::find(stack_.begin(), below, head_of(next_)) != below;
    return static_cast<unsigned>(
        loses_head +
        std::count_if(stack_.begin(), stack_.end(), [&](auto w) { return head_of(w) == next_; }));
  }
  // The word on top gets this head and no other, and no more dependants from the buffer. A word
  // with others below it cannot become the last one, which has the root.
  const std::uint32_t word = stack(0), below = stack(1), head = head_of(word);
  const bool can_get_head = head >= next_ || head == below;
  const bool gets_head = head == (transition == Transition::left ? next_ : below);
  return static_cast<unsigned>((can_get_head && !gets_head) +
                               std::count(tree.begin() + (next_ - 1), tree.end(), word));
}

}  // namespace dynet_like::examples
