// From declared ranges to patterns, and from patterns to cell types.
#include "dynet_like/exec/declared_cells.h"

#include <algorithm>
#include <optional>

namespace dynet_like {

namespace {

constexpr std::size_t kMostMembers = 64;  ///< sets of members are words of so many bits
constexpr std::size_t kMostInputs = 1024;
constexpr std::size_t kMostRefused = 64;  ///< names and reasons to tell of

const auto kNodeBefore = [](NodeRef a, NodeId b) { return a.node < b; };

}  // namespace

// The nodes of a tape, and the ranges of a tape, stand in ascending order.
void DeclaredCells::look_at(std::span<const NodeRef> pending, CommonState& common) {
  common.declared.clear();
  while (!pending.empty()) {
    const std::uint32_t index = pending[0].tape;
    const auto end = std::partition_point(pending.begin(), pending.end(),
                                          [&](NodeRef ref) { return ref.tape == index; });
    const DeclaredRanges& declared = common.tapes[index].tape->declared();
    auto begin = pending.begin();
    for (const DeclaredRange& range : declared.ending_behind(begin->node)) {
      begin = std::lower_bound(begin, end, range.begin, kNodeBefore);
      if (begin == end) break;
      const auto behind = std::lower_bound(begin, end, range.end, kNodeBefore);
      if (begin != behind) look_at_range({begin, behind}, declared.name_of(range), common);
      begin = behind;
    }
    pending = {end, pending.end()};
  }
}

void DeclaredCells::look_at_range(std::span<const NodeRef> members, std::string_view name,
                                  CommonState& common) {
  const Tape& tape = *common.tapes[members[0].tape].tape;
  CellReason reason = read_pattern(members, tape);
  std::optional<std::uint32_t> type;
  if (reason == CellReason::none) {
    type = common.dictionary.declare(pattern_, name, tape.types());
    if (!type) reason = CellReason::too_many;
  }
  if (!type) return refuse(members, tape, name, reason);
  common.declared.push_back({members[0], *type});
}

CellReason DeclaredCells::read_pattern(std::span<const NodeRef> members, const Tape& tape) {
  if (members.size() < 2) return CellReason::single;
  if (members.size() > kMostMembers) return CellReason::too_large;
  if (tape.is_boundary_between(members.front().node, members.back().node)) {
    return CellReason::checkpoint;
  }
  pattern_.members.clear();
  pattern_.first_input.assign(1, 0);
  pattern_.inputs.clear();
  ports_.clear();
  for (NodeRef member : members) {
    const NodeType& type = tape.type_of(member.node);
    if (tape.items_of(member.node) != 1) return CellReason::minibatch;
    if (!type.is_of_all_samples()) return CellReason::argument_of_sample;
    if (pattern_.inputs.size() + type.inputs > kMostInputs) return CellReason::too_large;
    const CellReason reason = read_inputs(members, member.node, tape);
    if (reason != CellReason::none) return reason;
    pattern_.members.push_back(type.id);
    pattern_.first_input.push_back(static_cast<std::uint32_t>(pattern_.inputs.size()));
  }
  pattern_.ports = static_cast<std::uint32_t>(ports_.size());
  return CellReason::none;
}

CellReason DeclaredCells::read_inputs(std::span<const NodeRef> members, NodeId node,
                                      const Tape& tape) {
  using From = CellInput::From;
  const Signature& signature = tape.type_of(node).signature;
  const std::span<const ValueId> ids = tape.inputs_of(node);
  for (std::size_t j = 0; j < ids.size(); ++j) {
    if (signature.shared[j] != 0) {
      pattern_.inputs.push_back({});
      continue;
    }
    const Value& value = tape.value(ids[j]);
    const auto member = std::lower_bound(members.begin(), members.end(), value.node, kNodeBefore);
    if (member != members.end() && member->node == value.node) {
      const auto index = static_cast<std::uint16_t>(member - members.begin());
      pattern_.inputs.push_back(
          {From::member, value.blocks_gradient, index, value.offset, value.shape});
      continue;
    }
    if (value.items != 1) return CellReason::minibatch;
    const auto port = std::find(ports_.begin(), ports_.end(), ids[j]);
    const auto index = static_cast<std::uint16_t>(port - ports_.begin());
    if (port == ports_.end()) ports_.push_back(ids[j]);
    pattern_.inputs.push_back({From::port, false, index, 0, 0});
  }
  return CellReason::none;
}

// One entry for all that have the same name and reason; the ops are those of the first.
void DeclaredCells::refuse(std::span<const NodeRef> members, const Tape& tape,
                           std::string_view name, CellReason reason) {
  const auto known = std::find_if(refused_.begin(), refused_.end(), [&](const RefusedCell& other) {
    return other.reason == reason && other.name == name;
  });
  if (known != refused_.end()) {
    ++known->times;
  } else if (refused_.size() < kMostRefused) {
    RefusedCell cell{{}, 1, reason, std::string(name)};
    for (NodeRef member : members) cell.members.push_back(tape.node(member.node).type);
    refused_.push_back(std::move(cell));
  }
}

}  // namespace dynet_like
