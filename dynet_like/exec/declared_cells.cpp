// From declared ranges to patterns, and from patterns to cell types.
#include "dynet_like/exec/declared_cells.h"

#include <algorithm>
#include <optional>

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostMembers = 64;  ///< sets of members are words of so many bits
constexpr std::size_t kMostInputs = 1024;
constexpr std::size_t kMostRefused = 64;  ///< names and reasons to tell of

bool comes_before(NodeRef ref, NodeId node) { return ref.node < node; }

}  // namespace

void DeclaredCells::clear() {
  common_.declared.clear();
  common_.declared_ports.clear();
  refused_.clear();
}

// The nodes of a tape, and the ranges of a tape, stand in ascending order.
void DeclaredCells::look_at(std::span<const NodeRef> pending) {
  common_.declared.clear();
  common_.declared_ports.clear();
  while (!pending.empty()) {
    const std::uint32_t index = pending[0].tape;
    const auto end = std::partition_point(pending.begin(), pending.end(),
                                          [&](NodeRef ref) { return ref.tape == index; });
    const Tape& tape = *common_.tapes[index].tape;
    auto begin = pending.begin();
    for (const DeclaredRange& range : tape.declared().ending_behind(begin->node)) {
      begin = std::lower_bound(begin, end, range.begin, comes_before);
      if (begin == end) break;
      const auto behind = std::lower_bound(begin, end, range.end, comes_before);
      if (begin != behind) look_at_range({{begin, behind}, tape}, tape.declared().name_of(range));
      begin = behind;
    }
    pending = {end, pending.end()};
  }
}

void DeclaredCells::look_at_range(const Members& members, std::string_view name) {
  std::uint32_t type = 0;
  const CellReason reason = find(members, type);
  if (reason != CellReason::none) return refuse(members, name, reason);
  common_.dictionary.name(type, name);
  common_.declared.push_back(
      {members.refs[0], type, static_cast<std::uint32_t>(common_.declared_ports.size())});
  common_.declared_ports.insert(common_.declared_ports.end(), ports_.begin(), ports_.end());
}

CellReason DeclaredCells::find(const Members& members, std::uint32_t& type) {
  const std::span<const NodeRef> refs = members.refs;
  const Tape& tape = members.tape;
  if (refs.size() < 2) return CellReason::single;
  if (refs.size() > kMostMembers) return CellReason::too_large;
  if (tape.is_boundary_between(refs.front().node, refs.back().node)) return CellReason::checkpoint;
  std::uint64_t hash = 0;
  for (NodeRef ref : refs) hash = CellDictionary::add_to_hash(hash, tape.node(ref.node).type);
  for (std::uint32_t known : common_.dictionary.declared_of_types(hash)) {
    type = known;
    if (fits(common_.dictionary[known].pattern, members)) return CellReason::none;
  }
  const CellReason reason = why_no_cell(members);
  if (reason != CellReason::none) return reason;
  const std::optional<std::uint32_t> added =
      common_.dictionary.declare(pattern_of(members), tape.types());
  if (!added) return CellReason::too_many;
  type = *added;
  return CellReason::none;
}

std::size_t DeclaredCells::Members::index_of(NodeId node) const {
  if (node < refs[0].node) return refs.size();
  const auto found = std::lower_bound(refs.begin(), refs.end(), node, comes_before);
  const bool is_member = found != refs.end() && found->node == node;
  return is_member ? static_cast<std::size_t>(found - refs.begin()) : refs.size();
}

// Notes the ports, too.
bool DeclaredCells::fits(const CellPattern& pattern, const Members& members) {
  const Tape& tape = members.tape;
  if (pattern.size() != members.refs.size()) return false;
  ports_.clear();
  for (std::size_t m = 0; m < pattern.size(); ++m) {
    const NodeId node = members.refs[m].node;
    if (tape.node(node).type != pattern.members[m] || tape.items_of(node) != 1) return false;
    const ValueId* ids = tape.edges().data() + tape.node(node).first_edge;
    for (const CellInput& input : pattern.inputs_of(m)) {
      const ValueId id = *ids++;
      if (input.from == From::argument) continue;
      const Value& value = tape.value(id);
      if (input.from == From::member) {
        if (value.node != members.refs[input.index].node || value.offset != input.offset ||
            value.shape != input.shape || value.blocks_gradient != input.blocks_gradient) {
          return false;
        }
      } else if (input.index < ports_.size()) {
        if (ports_[input.index] != id) return false;
      } else {
        if (value.items != 1 || members.index_of(value.node) < members.refs.size()) return false;
        if (std::find(ports_.begin(), ports_.end(), id) != ports_.end()) return false;
        ports_.push_back(id);
      }
    }
  }
  return true;
}

CellReason DeclaredCells::why_no_cell(const Members& members) const {
  const Tape& tape = members.tape;
  std::size_t inputs = 0;
  for (NodeRef ref : members.refs) {
    const NodeType& type = tape.type_of(ref.node);
    const std::span<const ValueId> ids = tape.inputs_of(ref.node);
    const bool has_items =
        std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return tape.value(id).items != 1; });
    const bool is_open = type.op->batching.open_inputs != 0;
    if (has_items || is_open || tape.items_of(ref.node) != 1) return CellReason::minibatch;
    if (!type.is_of_all_samples()) return CellReason::argument_of_sample;
    inputs += type.inputs;
  }
  return inputs > kMostInputs ? CellReason::too_large : CellReason::none;
}

// Notes the ports, too.
CellPattern DeclaredCells::pattern_of(const Members& members) {
  const Tape& tape = members.tape;
  CellPattern pattern;
  ports_.clear();
  for (NodeRef ref : members.refs) {
    const NodeType& type = tape.type_of(ref.node);
    const std::span<const ValueId> ids = tape.inputs_of(ref.node);
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const Value& value = tape.value(ids[j]);
      const std::size_t member = members.index_of(value.node);
      if (type.signature.shared[j] != 0) {
        pattern.inputs.push_back({});
      } else if (member < members.refs.size()) {
        pattern.inputs.push_back({From::member, value.blocks_gradient,
                                  static_cast<std::uint16_t>(member), value.offset, value.shape});
      } else {
        const auto port = std::find(ports_.begin(), ports_.end(), ids[j]);
        const auto index = static_cast<std::uint16_t>(port - ports_.begin());
        if (port == ports_.end()) ports_.push_back(ids[j]);
        pattern.inputs.push_back({From::port, false, index, 0, 0});
      }
    }
    pattern.members.push_back(type.id);
    pattern.first_input.push_back(static_cast<std::uint32_t>(pattern.inputs.size()));
  }
  pattern.ports = static_cast<std::uint32_t>(ports_.size());
  return pattern;
}

// One entry for all that have the same name and reason; the ops are those of the first.
void DeclaredCells::refuse(const Members& members, std::string_view name, CellReason reason) {
  const auto known = std::find_if(refused_.begin(), refused_.end(), [&](const RefusedCell& other) {
    return other.reason == reason && other.name == name;
  });
  if (known != refused_.end()) {
    ++known->times;
  } else if (refused_.size() < kMostRefused) {
    RefusedCell cell{{}, 1, reason, std::string(name)};
    for (NodeRef ref : members.refs) cell.members.push_back(members.tape.node(ref.node).type);
    refused_.push_back(std::move(cell));
  }
}

}  // namespace dynet_like::detail
