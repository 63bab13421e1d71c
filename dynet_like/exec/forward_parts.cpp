// Divides the nodes of a lane at the ends of ranges of temporary values.
#include "dynet_like/exec/forward_parts.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dynet_like::detail {

namespace {

constexpr std::uint32_t kLastPlace = std::numeric_limits<std::uint32_t>::max();

std::size_t bytes_of(const RunState& run, NodeRef ref) {
  const Signature& signature = run.tape(ref).type_of(ref.node).signature;
  return signature.output_size * size_of(signature.dtype) * run.items_of(ref);
}

}  // namespace

void ForwardParts::divide(const RunState& run, std::span<const NodeRef> pending,
                          std::span<const ValueRef> targets, bool free_unread) {
  pending_ = pending;
  ends_.assign(1, pending.size());
  frees_ = free_unread;
  if (!run.options().inference && !free_unread) return;  // training needs all values
  freed_.assign(pending.size(), free_unread ? 1 : 0);
  find_stretches(run);
  if (!frees_) return;
  keep_targets(run, targets);
  const std::size_t limit = run.options().memory_limit;
  const std::uint32_t parts = assign_parts(limit == 0 ? kMuch : std::min(kMuch, limit));
  if (parts == 1) return;
  keep_what_later_parts_read(run);
  sort_by_part(parts);
}

ForwardParts::Part ForwardParts::operator[](std::size_t part) const {
  const bool is_whole = ends_.size() == 1;
  const std::size_t begin = part == 0 ? 0 : ends_[part - 1], count = ends_[part] - begin;
  const std::span nodes = is_whole ? pending_ : std::span<const NodeRef>(sorted_);
  const std::span<const std::uint8_t> freed = is_whole ? freed_ : sorted_freed_;
  return {nodes.subspan(begin, count), frees_ ? freed.subspan(begin, count) : freed.first(0)};
}

// Notes which values pass, and where a part may end.
void ForwardParts::find_stretches(const RunState& run) {
  stretches_.clear();
  Stretch next;
  for (std::size_t i = 0; i < pending_.size();) {
    const std::uint32_t tape = pending_[i].tape;
    next.place = 0;
    for (const NodeRange& range : run.tapes()[tape].temporaries) {
      std::size_t bytes = 0;
      // The node behind a range is usually the result, which reads the last of them.
      while (i < pending_.size() && pending_[i].tape == tape && pending_[i].node <= range.end) {
        if (pending_[i].node >= range.first && pending_[i].node < range.end) {
          bytes += bytes_of(run, pending_[i]);
          freed_[i] = 1;
        }
        ++i;
      }
      if (bytes == 0) continue;
      frees_ = true;
      next.bytes = bytes;
      end_stretch(i, next);
    }
    while (i < pending_.size() && pending_[i].tape == tape) ++i;
    if (i == next.begin) continue;
    next.place = kLastPlace;
    end_stretch(i, next);
  }
}

void ForwardParts::end_stretch(std::size_t end, Stretch& next) {
  next.end = end;
  stretches_.push_back(next);
  next = {end, end, next.place + 1};
}

std::size_t ForwardParts::find(NodeRef ref) const {
  const auto before = [](NodeRef a, NodeRef b) {
    return a.tape != b.tape ? a.tape < b.tape : a.node < b.node;
  };
  const auto found = std::lower_bound(pending_.begin(), pending_.end(), ref, before);
  return found != pending_.end() && *found == ref
             ? static_cast<std::size_t>(found - pending_.begin())
             : pending_.size();
}

void ForwardParts::keep_targets(const RunState& run, std::span<const ValueRef> targets) {
  for (const ValueRef& target : targets) {
    if (target.tape < run.first_tape || target.tape >= run.end_tape) continue;
    const std::size_t i =
        find({target.tape, run.tapes()[target.tape].tape->value(target.value).node});
    if (i < pending_.size()) freed_[i] = 0;
  }
}

// The first stretches of all tapes come first, so that they share batches, then the second ones.
// What comes after them runs in the last part. Returns how many there are.
std::uint32_t ForwardParts::assign_parts(std::size_t much) {
  const auto add = [](std::size_t sum, const Stretch& some) { return sum + some.bytes; };
  if (std::accumulate(stretches_.begin(), stretches_.end(), std::size_t{0}, add) <= much) return 1;
  std::ranges::stable_sort(stretches_, {}, &Stretch::place);
  std::uint32_t part = 0;
  std::size_t bytes = 0;
  for (Stretch& stretch : stretches_) {
    if (bytes > 0 && bytes + stretch.bytes > much) {
      ++part;
      bytes = 0;
    }
    bytes += stretch.bytes;
    stretch.part = part;
  }
  part_of_.resize(pending_.size());
  for (const Stretch& stretch : stretches_) {
    const bool is_last = stretch.place == kLastPlace;
    std::fill(part_of_.begin() + static_cast<std::ptrdiff_t>(stretch.begin),
              part_of_.begin() + static_cast<std::ptrdiff_t>(stretch.end),
              is_last ? part : stretch.part);
  }
  return part + 1;
}

void ForwardParts::keep_what_later_parts_read(const RunState& run) {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Tape& tape = run.tape(pending_[i]);
    for (const ValueId input : tape.inputs_of(pending_[i].node)) {
      const std::size_t producer = find({pending_[i].tape, tape.value(input).node});
      if (producer < pending_.size() && part_of_[producer] < part_of_[i]) freed_[producer] = 0;
    }
  }
}

void ForwardParts::sort_by_part(std::uint32_t parts) {
  ends_.assign(parts + 1, 0);
  for (const std::uint32_t part : part_of_) ++ends_[part + 1];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  sorted_.resize(pending_.size());
  sorted_freed_.resize(pending_.size());
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const std::size_t to = ends_[part_of_[i]]++;  // then it is the part's end
    sorted_[to] = pending_[i];
    sorted_freed_[to] = freed_[i];
  }
  ends_.pop_back();
}

}  // namespace dynet_like::detail
