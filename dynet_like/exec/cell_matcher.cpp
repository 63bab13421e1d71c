// Comparing recorded nodes with the cell types in use.
#include "dynet_like/exec/cell_matcher.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"

namespace dynet_like::detail {

std::span<const Unit> CellMatcher::divide(std::span<const NodeRef> pending) {
  const CellDictionary& dictionary = run_.common.dictionary;
  units_.clear();
  units_.reserve(pending.size());
  taken_.assign(pending.size(), 0);
  single_nodes_ = 0;
  const Tape* tape = nullptr;
  for (std::uint32_t i = 0; i < pending.size(); ++i) {
    if (i == 0 || pending[i].tape != pending[i - 1].tape) tape = &run_.tape(pending[i]);
    if (taken_[i] != 0) continue;
    // Most nodes begin nothing.
    const auto candidates = dictionary.beginning_with(tape->node(pending[i].node).type);
    const std::uint32_t cell = candidates.empty() ? kNone : find_cell(candidates, pending, i);
    if (cell == kNone) {
      units_.push_back({i, kNone});
      ++single_nodes_;
    } else {
      enter(cell, pending, i);
    }
  }
  return units_;
}

// If none fits, the one that got furthest tells why.
std::uint32_t CellMatcher::find_cell(std::span<const std::uint32_t> candidates,
                                     std::span<const NodeRef> pending, std::uint32_t first) {
  const CellDictionary& dictionary = run_.common.dictionary;
  std::size_t furthest = 0;
  std::uint32_t nearest = kNone;
  CellReason reason = CellReason::none;
  for (std::uint32_t cell : candidates) {
    const CellType& cell_type = dictionary[cell];
    if (match_closed(cell_type, pending, first) || match(cell_type, pending, first)) return cell;
    if (nodes_.size() <= furthest) continue;
    furthest = nodes_.size();
    nearest = cell;
    reason = miss_;
  }
  if (reason != CellReason::none) run_.counts.count_reason(nearest, reason);
  return kNone;
}

void CellMatcher::begin_match() {
  members_.clear();
  nodes_.clear();
  ports_.clear();
  between_.clear();
  others_between_ = enters_before_ = reads_between_ = false;
}

// Most cells are nodes that were recorded one after the other, with nothing in between.
bool CellMatcher::match_closed(const CellType& cell, std::span<const NodeRef> pending,
                               std::uint32_t first) {
  const CellPattern& pattern = cell.pattern;
  const auto size = static_cast<std::uint32_t>(pattern.size());
  const NodeRef begin = pending[first];
  if (pending.size() - first < size) return false;
  const NodeRef last = pending[first + size - 1];
  if (last.tape != begin.tape || last.node != begin.node + size - 1) return false;
  const Tape& tape = *run_.tapes[begin.tape].tape;
  const Node* const nodes = tape.nodes().data() + begin.node;
  bool same = !tape.is_boundary_between(begin.node, last.node);
  for (std::uint32_t m = 0; m < size && same; ++m) {
    same = nodes[m].type == pattern.members[m] && taken_[first + m] == 0 &&
           tape.items_of(begin.node + m) == 1;
  }
  if (!same) return false;
  begin_match();
  for (std::uint32_t m = 0; m < size; ++m) {
    members_.push_back(first + m);
    nodes_.push_back(begin.node + m);
  }
  return fits(pattern.inputs, tape.edges().data() + nodes[0].first_edge, tape);
}

// Members follow one another, but for loose nodes and for those that other units have already.
// These must be able to run before the whole cell, or after it.
bool CellMatcher::match(const CellType& cell, std::span<const NodeRef> pending,
                        std::uint32_t first) {
  const CellDictionary& dictionary = run_.common.dictionary;
  const CellPattern& pattern = cell.pattern;
  const std::uint32_t tape_index = pending[first].tape;
  const Tape& tape = *run_.tapes[tape_index].tape;
  const bool loose = dictionary.is_loose(pattern.members[0]);
  begin_match();
  std::uint32_t i = first;
  for (std::size_t m = 0; m < pattern.size(); ++i) {
    if (i == pending.size() || pending[i].tape != tape_index) return miss(CellReason::ended);
    const NodeId node = pending[i].node;
    const TypeId type = tape.node(node).type;
    if (type != pattern.members[m] || taken_[i] != 0) {
      if (m > 0 && (taken_[i] != 0 || (!loose && dictionary.is_loose(type)))) {
        pass_over(pending, i);
        continue;
      }
      return miss(2 * m < pattern.size() ? CellReason::none : CellReason::ops);
    }
    if (m > 0 && tape.is_boundary_between(nodes_.back(), node)) {
      return miss(CellReason::checkpoint);
    }
    nodes_.push_back(node);
    members_.push_back(i);
    if (tape.items_of(node) != 1) return miss(CellReason::minibatch);
    const ValueId* const ids = tape.edges().data() + tape.node(node).first_edge;
    if (!fits(pattern.inputs_of(m), ids, tape)) return miss(why_unfit());
    ++m;
  }
  return has_one_order(tape_index);
}

// What lies between comes all before or all behind: that gives one order. If the cell reads any of
// it, or it is entered before, the cell stands in the place of its last member.
bool CellMatcher::has_one_order(std::uint32_t tape_index) {
  bool before = false, behind = false;
  for (const Between& between : between_) {
    const bool has_unit = taken_[between.index] != 0;
    if (has_unit && between.reads_cell) return miss(CellReason::between);
    before |= !has_unit && !between.reads_cell;
    behind |= between.reads_cell;
  }
  enters_before_ = before;
  others_between_ = !between_.empty();
  if (nodes_.back() - nodes_.front() >= nodes_.size() + between_.size()) {
    behind |= look_between(tape_index);
  }
  return !((before || reads_between_) && behind) || miss(CellReason::between);
}

// Notes nodes between the members that do not run now: they ran before, or somebody may ask for
// them later. Returns whether there are any of the second kind, which may read the cell.
bool CellMatcher::look_between(std::uint32_t tape_index) {
  const TapeState& state = run_.tapes[tape_index];
  const Tape& tape = *state.tape;
  bool may_read_cell = false;
  auto member = nodes_.begin();
  auto between = between_.begin();
  for (NodeId node = nodes_.front(); node < nodes_.back(); ++node) {
    if (node == *member) {
      ++member;
    } else if (between != between_.end() && between->node == node) {
      ++between;
    } else if (tape.value(tape.node(node).value).identity == 0 && tape.type_of(node).inputs > 0) {
      others_between_ = true;
      may_read_cell |= state.nodes[node].value == nullptr;
    }
  }
  return may_read_cell;
}

// Of members that follow one another, whose inputs do so, too.
bool CellMatcher::fits(std::span<const CellInput> inputs, const ValueId* ids, const Tape& tape) {
  const Value* const values = tape.values().data();
  const CellInput* input = inputs.data();
  for (const CellInput* const end = input + inputs.size(); input != end; ++input, ++ids) {
    if (input->from == From::argument) continue;
    const Value& value = values[*ids];
    if (input->from == From::member) {
      if (value.node != nodes_[input->index] || value.offset != input->offset ||
          value.shape != input->shape || value.blocks_gradient != input->blocks_gradient) {
        return false;
      }
    } else if (input->index < ports_.size()) {
      if (ports_[input->index] != *ids) return false;
    } else {
      const bool lies_behind = value.node >= nodes_[0];
      if (lies_behind && !is_between(value.node)) return false;
      reads_between_ |= lies_behind;
      ports_.push_back(*ids);
    }
  }
  return true;
}

CellReason CellMatcher::why_unfit() const {
  const bool between = std::any_of(between_.begin(), between_.end(),
                                   [](const Between& other) { return other.reads_cell; });
  if (between) return CellReason::between;
  return nodes_.size() > 1 ? CellReason::links : CellReason::none;
}

// Whether a value from behind the first member comes from a node that can run before all of them.
bool CellMatcher::is_between(NodeId node) const {
  if (std::binary_search(nodes_.begin(), nodes_.end(), node)) return false;
  const auto found = std::find_if(between_.begin(), between_.end(),
                                  [&](const Between& between) { return between.node == node; });
  // What is not in the list has its value: it is a source, is shared, or ran before.
  return found == between_.end() || !found->reads_cell;
}

void CellMatcher::pass_over(std::span<const NodeRef> pending, std::uint32_t index) {
  const Tape& tape = run_.tape(pending[index]);
  bool reads_cell = false;
  for (ValueId input : tape.inputs_of(pending[index].node)) {
    const NodeId producer = tape.value(input).node;
    if (producer < nodes_[0]) continue;
    reads_cell |= !is_between(producer);
  }
  between_.push_back({index, pending[index].node, reads_cell});
}

void CellMatcher::enter(std::uint32_t type, std::span<const NodeRef> pending, std::uint32_t first) {
  for (const Between& between : between_) {
    if (between.reads_cell || taken_[between.index] != 0) continue;
    taken_[between.index] = 1;
    units_.push_back({between.index, kNone});
    ++single_nodes_;
  }
  Cell cell;
  cell.tape = pending[first].tape;
  cell.type = type;
  cell.first_node = static_cast<std::uint32_t>(run_.cells.nodes.size());
  cell.first_port = static_cast<std::uint32_t>(run_.cells.ports.size());
  cell.others_between = others_between_;
  cell.entered_at = enters_before_ || reads_between_ ? nodes_.back() : nodes_.front();
  run_.cells.nodes.insert(run_.cells.nodes.end(), nodes_.begin(), nodes_.end());
  run_.cells.ports.insert(run_.cells.ports.end(), ports_.begin(), ports_.end());
  for (std::uint32_t member : members_) taken_[member] = 1;
  units_.push_back({first, static_cast<std::uint32_t>(run_.cells.all.size())});
  run_.cells.all.push_back(cell);
}

}  // namespace dynet_like::detail
