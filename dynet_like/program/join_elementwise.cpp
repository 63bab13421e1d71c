// Joins elementwise operations of a vertex into one.
#include <algorithm>
#include <map>

#include "dynet_like/program/recorded_vertex.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

class Joiner {
 public:
  Joiner(TapeWriter& writer, const RecordedVertex& vertex, FormulaOps& ops)
      : writer_(writer), vertex_(vertex), joined_(vertex), ops_(ops) {}

  RecordedVertex run() {
    facts_.resize(tape_.size() - vertex_.first);
    find_readers();
    for (NodeId node : nodes_) of(node).can_join = can_join(node);
    do {
      levels_ = 0;
      for (NodeId node : nodes_) find_facts(node);
      find_groups();
    } while (!keep_order());
    if (groups_.empty()) return vertex_;
    std::vector<std::vector<NodeId>> single(levels_ + 1);
    for (NodeId node : nodes_) {
      if (of(node).group == kNoGroup) single[of(node).level].push_back(node);
    }
    std::ranges::stable_sort(groups_, {}, &Group::level);
    auto group = groups_.begin();
    for (std::uint32_t level = 0; level <= levels_; ++level) {
      for (; group != groups_.end() && group->level == level; ++group) record(*group);
      for (NodeId node : single[level]) record(node);
    }
    for (ValueId& result : joined_.results) result = now(result);
    return std::move(joined_);
  }

 private:
  struct Reader {
    NodeId node;
    Value value;
  };
  /// An elementwise node reads only nodes of lower levels or of its own group. Any other node reads
  /// elementwise nodes of lower levels, and other nodes of lower levels or its own.
  struct Facts {
    bool can_join = false, reads_state = false, is_result = false;
    std::uint32_t level = 0, group = kNoGroup;
    std::vector<Reader> readers;
    Value now;  ///< its output in the joined recording
  };
  struct Group {
    std::uint32_t level;
    std::vector<NodeId> nodes;
  };
  /// An operand of a node of a group: another node of the group, or an input of the formula.
  struct Operand {
    bool is_inside;
    std::uint32_t index;
  };

  Facts& of(NodeId node) { return facts_[node - vertex_.first]; }
  const Facts& of(NodeId node) const { return facts_[node - vertex_.first]; }
  bool can_join(NodeId node) const;
  bool may_be_one(NodeId a, NodeId b) const;
  void find_readers();
  void find_facts(NodeId node);
  void find_groups();
  bool keep_order();
  bool keeps_order(NodeId node) const;
  bool is_read_outside(NodeId node) const;
  bool is_read_in_group_alone(const Value& value, std::uint32_t group) const;
  ValueId now(ValueId old);
  void record(NodeId node);
  void record(const Group& group);
  std::vector<std::vector<Operand>> operands_of(const Group& group, std::vector<ValueId>& inputs,
                                                std::vector<std::uint64_t>& turns);
  ops::Formula formula_of(const Group& group, std::span<const NodeId> outputs,
                          std::span<const std::vector<Operand>> operands, std::size_t inputs);
  const Op& op_of(ops::Formula formula);

  TapeWriter& writer_;
  const Tape& tape_ = writer_.tape();
  const RecordedVertex& vertex_;
  RecordedVertex joined_;
  FormulaOps& ops_;
  std::vector<NodeId> nodes_ = nodes_of(tape_, vertex_);
  std::vector<Facts> facts_;  ///< by node of the vertex
  std::vector<Group> groups_;
  std::uint32_t levels_ = 0;
};

bool Joiner::can_join(NodeId node) const {
  const Op& op = *tape_.type_of(node).op;
  const Dim dim = tape_.dim_of(tape_.node(node).value);
  return ops::is_formula_step(op) && tape_.items_of(node) == 1 &&
         std::ranges::all_of(tape_.inputs_of(node), [&](ValueId id) {
           const Value& value = tape_.value(id);
           return value.identity == 0 && value.items == 1 && !value.blocks_gradient &&
                  tape_.dim_of(id) == dim;
         });
}

// Nodes that read no state run before the levels of the structure, so they are kept apart.
bool Joiner::may_be_one(NodeId a, NodeId b) const {
  return of(a).can_join && of(b).can_join && of(a).reads_state == of(b).reads_state &&
         tape_.dim_of(tape_.node(a).value) == tape_.dim_of(tape_.node(b).value);
}

void Joiner::find_readers() {
  for (NodeId node : nodes_) {
    for (ValueId id : tape_.inputs_of(node)) {
      const Value& value = tape_.value(id);
      if (is_inner(vertex_, value)) of(value.node).readers.push_back({node, value});
    }
  }
  for (ValueId id : vertex_.results) {
    if (is_inner(vertex_, tape_.value(id))) of(tape_.value(id).node).is_result = true;
  }
}

void Joiner::find_facts(NodeId node) {
  Facts& facts = of(node);
  facts.reads_state = false;
  facts.level = 0;
  facts.group = kNoGroup;
  for (ValueId id : tape_.inputs_of(node)) {
    const Value& value = tape_.value(id);
    facts.reads_state |= is_state(vertex_, value.node);
    if (is_inner(vertex_, value)) facts.reads_state |= of(value.node).reads_state;
  }
  for (ValueId id : tape_.inputs_of(node)) {
    const Value& value = tape_.value(id);
    if (!is_inner(vertex_, value)) continue;
    const Facts& input = of(value.node);
    const bool is_before = facts.can_join ? !may_be_one(value.node, node) : input.can_join;
    facts.level = std::max(facts.level, input.level + (is_before ? 1 : 0));
  }
  levels_ = std::max(levels_, facts.level);
}

void Joiner::find_groups() {
  groups_.clear();
  std::vector<Group> all;
  std::vector<std::vector<std::size_t>> of_level(levels_ + 1);
  for (NodeId node : nodes_) {
    if (!of(node).can_join) continue;
    std::vector<std::size_t>& here = of_level[of(node).level];
    const auto mine = std::ranges::find_if(
        here, [&](std::size_t group) { return may_be_one(all[group].nodes[0], node); });
    if (mine == here.end()) {
      here.push_back(all.size());
      all.push_back({of(node).level, {node}});
    } else {
      all[*mine].nodes.push_back(node);
    }
  }
  for (Group& group : all) {
    if (group.nodes.size() == 1) continue;
    for (NodeId node : group.nodes) of(node).group = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back(std::move(group));
  }
}

// Removes nodes whose sums of gradients would change their order. Returns whether there were none.
bool Joiner::keep_order() {
  bool keeps = true;
  for (const Group& group : groups_) {
    for (NodeId node : group.nodes) {
      if (keeps_order(node)) continue;
      of(node).can_join = keeps = false;
    }
  }
  return keeps;
}

// A formula adds the contributions of its own steps to a step after those of other readers. So the
// others must have been recorded later. Of two contributions either may come first.
bool Joiner::keeps_order(NodeId node) const {
  const Facts& facts = of(node);
  if (facts.readers.size() + (facts.is_result ? 1 : 0) <= 2) return true;
  const auto is_inside = [&](const Reader& reader) { return of(reader.node).group == facts.group; };
  const auto first_outside = std::ranges::find_if_not(facts.readers, is_inside);
  return std::none_of(first_outside, facts.readers.end(), is_inside);
}

bool Joiner::is_read_outside(NodeId node) const {
  const Facts& facts = of(node);
  return facts.is_result || std::ranges::any_of(facts.readers, [&](const Reader& reader) {
           return of(reader.node).group != facts.group;
         });
}

// If so, the formula sums up all contributions to the value.
bool Joiner::is_read_in_group_alone(const Value& value, std::uint32_t group) const {
  if (!is_inner(vertex_, value) || of(value.node).is_result) return false;
  return std::ranges::all_of(of(value.node).readers, [&](const Reader& reader) {
    return of(reader.node).group == group && reader.value.is_same_stretch(value);
  });
}

// The value that replaces an original one.
ValueId Joiner::now(ValueId old) {
  Value view = tape_.value(old);
  if (!is_inner(vertex_, view)) return old;
  const Value& whole = of(view.node).now;
  if (whole.node == view.node) return old;
  view.node = whole.node;
  view.offset += whole.offset;
  return writer_.add_view(view);
}

void Joiner::record(NodeId node) {
  std::vector<ValueId> inputs;
  const std::vector<ValueId> before(tape_.inputs_of(node).begin(), tape_.inputs_of(node).end());
  for (ValueId id : before) inputs.push_back(now(id));
  ValueId value = tape_.node(node).value;
  if (inputs != before) {
    const NodeType& type = tape_.type_of(node);
    std::vector<std::uint32_t> integers;
    if (!type.op->numbers.random) {
      integers.assign(tape_.integers_of(node).begin(), tape_.integers_of(node).end());
    }
    std::vector<double> reals;
    for (unsigned r = 0; r < type.op->numbers.reals; ++r) reals.push_back(tape_.real_of(node, r));
    const std::vector<std::uint32_t> attributes = type.signature.attributes;
    value = writer_.add(*type.op, inputs, attributes, {integers, reals, {}});
    const NodeId replaces = tape_.value(value).node;
    if (tape_.type_of(node).op->numbers.random) joined_.draw[replaces] = vertex_.draw.at(node);
    std::vector<std::uint64_t>& turns = joined_.turns[replaces];
    for (std::size_t j = 0; j < inputs.size(); ++j) turns.push_back(turn_of(vertex_, node, j));
  }
  of(node).now = tape_.value(value);
}

void Joiner::record(const Group& group) {
  std::vector<NodeId> outputs;
  std::ranges::copy_if(group.nodes, std::back_inserter(outputs),
                       [&](NodeId node) { return is_read_outside(node); });
  std::vector<ValueId> inputs;
  std::vector<std::uint64_t> turns;
  const std::vector<std::vector<Operand>> operands = operands_of(group, inputs, turns);
  ops::Formula formula = formula_of(group, outputs, operands, inputs.size());
  if (formula.slots() > ops::FormulaSteps::kMostSlots) {
    for (NodeId node : group.nodes) record(node);
    return;
  }
  const std::uint32_t size = tape_.shape_of(tape_.node(outputs[0]).value).size;
  const std::uint32_t count = formula.outputs;
  const std::span<const std::uint32_t> attributes(&count, count == 1 ? 0 : 1);
  const Value all = tape_.value(writer_.add(op_of(std::move(formula)), inputs, attributes));
  joined_.turns[all.node] = std::move(turns);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    of(outputs[k]).now = all;
    of(outputs[k]).now.offset += static_cast<std::uint32_t>(k) * size;
  }
}

// For a value that others read, too, each contribution remains a separate input.
std::vector<std::vector<Joiner::Operand>> Joiner::operands_of(const Group& group,
                                                              std::vector<ValueId>& inputs,
                                                              std::vector<std::uint64_t>& turns) {
  const std::uint32_t number = of(group.nodes[0]).group;
  const auto input_of = [&](ValueId old, std::uint64_t turn) {
    const ValueId value = now(old);
    auto known = inputs.end();
    if (is_read_in_group_alone(tape_.value(old), number)) {
      known = std::ranges::find_if(inputs, [&](ValueId other) {
        return tape_.value(other).is_same_stretch(tape_.value(value));
      });
    }
    const auto index = static_cast<std::uint32_t>(known - inputs.begin());
    if (known == inputs.end()) {
      inputs.push_back(value);
      turns.push_back(turn);
    }
    return index;
  };
  std::vector<std::vector<Operand>> all;
  for (NodeId node : group.nodes) {
    std::vector<Operand> operands;
    const std::vector<ValueId> ids(tape_.inputs_of(node).begin(), tape_.inputs_of(node).end());
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const Value value = tape_.value(ids[j]);
      if (is_inner(vertex_, value) && of(value.node).group == number) {
        operands.push_back({true, value.node});
      } else {
        operands.push_back({false, input_of(ids[j], turn_of(vertex_, node, j))});
      }
    }
    all.push_back(std::move(operands));
  }
  return all;
}

ops::Formula Joiner::formula_of(const Group& group, std::span<const NodeId> outputs,
                                std::span<const std::vector<Operand>> operands,
                                std::size_t inputs) {
  const auto write = [&](std::span<const ops::Term> terms) {
    std::map<NodeId, ops::Term> of_node;
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      std::vector<ops::Term> from;
      for (const auto& [is_inside, index] : operands[i]) {
        from.push_back(is_inside ? of_node.at(index) : terms[index]);
      }
      const NodeId node = group.nodes[i];
      const Op& op = *tape_.type_of(node).op;
      const double real = op.numbers.reals > 0 ? tape_.real_of(node, 0) : 0;
      of_node.emplace(node, *ops::apply_elementwise(op, from, real));
    }
    std::vector<ops::Term> results;
    for (NodeId node : outputs) results.push_back(of_node.at(node));
    return results;
  };
  constexpr bool kMergesEqual = false;  // as each node has its own sum
  return ops::record_formula("elementwise", static_cast<unsigned>(inputs), write, kMergesEqual);
}

const Op& Joiner::op_of(ops::Formula formula) {
  const auto known =
      std::ranges::find_if(ops_, [&](const auto& op) { return op->program == formula; });
  if (known != ops_.end()) return **known;
  ops_.push_back(make_formula_op("elementwise", std::move(formula)));
  tape_.shared_types()->keep(ops_.back());  // graphs may live longer than the function
  return *ops_.back();
}

}  // namespace

RecordedVertex join_elementwise(TapeWriter& writer, const RecordedVertex& vertex, FormulaOps& ops) {
  return Joiner(writer, vertex, ops).run();
}

}  // namespace dynet_like::detail
