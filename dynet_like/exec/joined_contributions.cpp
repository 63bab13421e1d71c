// What members of joined steps contribute to their weights, collected as one.
#include <algorithm>

#include "dynet_like/exec/backward.h"

namespace dynet_like::detail {

// The gradients of joined products lie one behind the other, and their right sides are the same: an
// entry of one list is for all their weights. Not if one of these gets anything else from the cell,
// which might come in between.
void Backward::join_contributions(const CellType& type, CellFacts& facts) {
  std::vector<CellContribution> all = facts.contributions;
  std::erase_if(all, [](const CellContribution& c) { return c.of_port; });
  const auto is_complete = [](const CellContribution& c) { return c.is_complete; };
  if (type.joints.empty() || !std::all_of(all.begin(), all.end(), is_complete)) {
    facts.together = std::move(all);
    return;
  }
  const auto joint_of = [&](const CellContribution& c) { return type.steps[c.step].joint; };
  const auto has_own_target = [&](std::size_t i) {
    return std::none_of(all.begin(), all.end(), [&](const CellContribution& other) {
      return other.what.target == all[i].what.target &&
             (other.step != all[i].step || other.what.input != all[i].what.input);
    });
  };
  std::vector<bool> is_done(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_done[i]) continue;
    const CellContribution& c = all[i];
    std::vector<std::size_t> group;  // through one input of the joint
    for (std::size_t k = i; k < all.size() && joint_of(c) != CellStep::kAlone; ++k) {
      const bool is_beside = joint_of(all[k]) == joint_of(c) && all[k].place == c.place &&
                             all[k].what.input == c.what.input;
      if (is_beside) group.push_back(k);
    }
    if (group.size() < 2 || !std::all_of(group.begin(), group.end(), has_own_target)) {
      facts.together.push_back(c);
      continue;
    }
    for (std::size_t k : group) is_done[k] = true;
    facts.together.push_back(as_one(type, all, group, facts));
  }
}

// The members at other places of their steps have the same list.
Backward::CellContribution Backward::as_one(const CellType& type,
                                            std::span<const CellContribution> all,
                                            std::span<const std::size_t> group,
                                            const CellFacts& facts) {
  CellContribution one = all[group[0]];
  one.step = type.joints[type.steps[one.step].joint].first_step;
  for (const CellContribution& other : facts.together) {
    const bool is_same = other.step == one.step && other.what.input == one.what.input;
    if (is_same && other.list != kNone) one.list = other.list;
  }
  if (one.list != kNone) return one;
  std::vector<SharedContributions::TypeContribution> whats;
  for (std::size_t i : group) {
    const CellStep& step = type.steps[all[i].step];
    whats.push_back(all[i].what);
    whats.back().dy_bytes += step.first_row * size_of(run_.types()[step.type].signature.dtype);
  }
  one.list = shared_.join(std::move(whats));
  return one;
}

}  // namespace dynet_like::detail
