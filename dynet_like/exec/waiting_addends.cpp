// Adds what waits in slots.
#include "dynet_like/exec/waiting_addends.h"

#include <algorithm>

namespace dynet_like::detail {

namespace {

bool is_same_sum(const WaitingAddend& a, const WaitingAddend& b) {
  return a.sum == b.sum && a.elements == b.elements;
}

// Whether the sums of addends to one state or column, which are sorted, overlap.
bool overlap(std::span<const WaitingAddend> all, std::size_t element) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    const WaitingAddend& before = all[i - 1];
    if (!is_same_sum(all[i], before) && all[i].sum < before.sum + before.elements * element) {
      return true;
    }
  }
  return false;
}

}  // namespace

// The order is that of nodes: what was recorded later comes first.
void sort_for_addition(std::vector<WaitingAddend>& waiting, std::size_t element) {
  const auto is_before = [](const WaitingAddend& a, const WaitingAddend& b) {
    return a.vertex != b.vertex ? a.vertex > b.vertex : a.turn > b.turn;
  };
  std::ranges::sort(waiting, [&](const WaitingAddend& a, const WaitingAddend& b) {
    if (a.whole != b.whole) return a.whole < b.whole;
    if (a.sum != b.sum) return a.sum < b.sum;
    return a.elements != b.elements ? a.elements < b.elements : is_before(a, b);
  });
  for (auto begin = waiting.begin(), end = begin; begin != waiting.end(); begin = end) {
    while (end != waiting.end() && end->whole == begin->whole) ++end;
    if (overlap({begin, end}, element)) std::sort(begin, end, is_before);
  }
}

void add_waiting(Queue& queue, DType dtype, std::span<const WaitingAddend> waiting, Arena& lists) {
  auto** const addends = lists.allocate_array<const void*>(waiting.size());
  for (std::size_t i = 0, end; i < waiting.size(); i = end) {
    const WaitingAddend& first = waiting[i];
    for (end = i; end < waiting.size() && is_same_sum(waiting[end], first); ++end) {
      if (end > i && waiting[end].is_first) break;
      addends[end] = waiting[end].addend;
    }
    queue.add_all(dtype, first.sum, first.elements, {addends + i, nullptr, end - i},
                  first.is_first ? SumStart::first : SumStart::there);
  }
}

}  // namespace dynet_like::detail
