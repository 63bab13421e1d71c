// The arc-hybrid transition system: transitions and their costs.
#include "nn/structured/arc_hybrid.h"

#include <algorithm>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "nn/data/dependency_tree.h"

namespace dynet_like::nn {

ArcHybrid::ArcHybrid(std::size_t words) : heads_(words) { settle(); }

bool ArcHybrid::can_make(std::span<const std::uint32_t> heads) {
  return is_tree(heads, Roots::one) && is_projective(heads);
}

bool ArcHybrid::is_allowed(std::uint32_t transition) const {
  return !is_done() && transition < kTransitions && (transition != kRight || stack_.size() > 1);
}

std::vector<std::uint32_t> ArcHybrid::allowed() const {
  std::vector<std::uint32_t> allowed;
  for (const std::uint32_t transition : {kShift, kLeft, kRight}) {
    if (is_allowed(transition)) allowed.push_back(transition);
  }
  return allowed;
}

void ArcHybrid::check(std::uint32_t transition) const {
  if (is_allowed(transition)) return;
  throw UsageError(
      fmt::format("[ArcHybrid] need a transition that is allowed; got {} with {} words on the "
                  "stack",
                  transition, stack_.size()));
}

void ArcHybrid::check_size(std::span<const std::uint32_t> tree) const {
  if (tree.size() == heads_.size()) return;
  throw UsageError(
      fmt::format("[ArcHybrid] need the heads of {} words; got {}", heads_.size(), tree.size()));
}

void ArcHybrid::apply(std::uint32_t transition) {
  check(transition);
  if (transition == kShift) {
    stack_.push_back(next_++);
  } else {
    attach(transition == kLeft ? next_ : stack(1));
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
  const auto has_buffer = [&] { return next_ <= heads_.size(); };
  if (has_buffer() && stack_.empty()) stack_.push_back(next_++);
  if (has_buffer()) return;
  while (!stack_.empty()) attach(stack(1));
}

std::size_t ArcHybrid::cost(std::uint32_t transition, std::span<const std::uint32_t> tree) const {
  check(transition);
  check_size(tree);
  const auto head_of = [&](std::uint32_t word) { return tree[word - 1]; };
  if (transition == kShift) {
    // The word gets no more dependants from the stack, and its head only from the top of that, or
    // from the buffer.
    const auto top = stack_.end() - 1;
    const bool loses_head =
        head_of(next_) == 0 || std::find(stack_.begin(), top, head_of(next_)) != top;
    const auto dependants =
        std::count_if(stack_.begin(), stack_.end(), [&](auto w) { return head_of(w) == next_; });
    return loses_head + static_cast<std::size_t>(dependants);
  }
  // The word on top gets this head and no other, and no more dependants from the buffer. A word
  // with others below it cannot become the last one, which has the root.
  const std::uint32_t word = stack(0), below = stack(1), head = head_of(word);
  const bool can_get_head = head >= next_ || head == below;
  const bool gets_head = head == (transition == kLeft ? next_ : below);
  const auto dependants = std::count(tree.begin() + (next_ - 1), tree.end(), word);
  return (can_get_head && !gets_head) + static_cast<std::size_t>(dependants);
}

ArcHybrid::Judged ArcHybrid::judge(std::span<const std::uint32_t> tree) const {
  check_size(tree);
  Judged judged;
  for (const std::uint32_t transition : allowed()) {
    (cost(transition, tree) == 0 ? judged.right : judged.wrong).push_back(transition);
  }
  return judged;
}

}  // namespace dynet_like::nn
