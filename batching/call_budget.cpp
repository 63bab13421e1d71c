// How often types may be called: some shares of what they need.
#include "batching/call_budget.h"

#include <algorithm>

namespace dynet_like::batching {
namespace {

/// From this cost of a call on, batches are not given away.
constexpr float costly_call = 0.5f;
/// How many more calls than it needs a type may get, as a share of those it needs. A cheap type
/// stands in many words, and even more often in their parts before these are merged.
constexpr double share_if_costly = 0.25, share_if_cheap = 8;
/// The same for all types together of two symbols that only stand together. A type may get more
/// then, if its own chain is a part of theirs: a forget gate that reads the left child has chains
/// along left children only. A type that never follows itself is not on that chain at all.
constexpr double share_of_inseparable = 0.5;

}  // namespace

CallBudget::CallBudget(std::span<const TypeFacts> facts) : types_(facts.size()) {
  for (std::size_t t = 0; t < facts.size(); ++t) {
    types_[t].need = std::max(facts[t].chain, 1u);
    types_[t].cost = facts[t].call_cost;
    types_[t].calls = types_[t].need;
  }
}

bool CallBudget::is_costly(std::uint32_t type) const { return types_[type].cost >= costly_call; }

bool CallBudget::affords(bool inseparable) const {
  double need = 0, calls = 0;
  for (const std::uint32_t t : changed_) {
    const Type& type = types_[t];
    const auto now = static_cast<double>(type.calls + type.change);
    need += type.cost * static_cast<double>(type.need);
    calls += type.cost * now;
    const bool is_strict = is_costly(t) && !(inseparable && type.need > 1);
    const double share = is_strict ? share_if_costly : share_if_cheap;
    if (type.change > 0 && now > (1 + share) * type.need) return false;
  }
  return !inseparable || calls <= (1 + share_of_inseparable) * need;
}

void CallBudget::settle(bool accepted) {
  for (const std::uint32_t t : changed_) {
    if (accepted) types_[t].calls += types_[t].change;
    types_[t].change = 0;
  }
  changed_.clear();
}

}  // namespace dynet_like::batching
