// Elementwise operations of a vertex that become one.
#include <algorithm>
#include <map>

#include "dynet_like/exec/recorded_vertex.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

class Joiner {
 public:
  Joiner(Tape& tape, const RecordedVertex& vertex, FormulaOps& ops)
      : tape_(tape), vertex_(vertex), ops_(ops), nodes_(nodes_of(tape, vertex)) {}

  RecordedVertex run() {
    facts_.resize(tape_.size() - vertex_.first);
    for (NodeId node : nodes_) find_facts(node);
    find_groups();
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
    RecordedVertex joined = vertex_;
    for (ValueId& result : joined.results) result = now(result);
    return joined;
  }

 private:
  /// A node of a level reads elementwise nodes of levels below, or of its group, and others of
  /// levels below or, if it is none itself, of its level.
  struct Facts {
    bool joins = false, reads_state = false, is_read_outside = false;
    bool keeps_output = false;  ///< does not share one with what is equal
    std::uint32_t level = 0, group = kNoGroup;
    Value now;  ///< its output, when it is recorded
  };
  struct Group {
    std::uint32_t level;
    std::vector<NodeId> nodes;
  };

  Facts& of(NodeId node) { return facts_[node - vertex_.first]; }
  const Facts& of(NodeId node) const { return facts_[node - vertex_.first]; }
  bool can_join(NodeId node) const;
  bool may_be_one(NodeId a, NodeId b) const;
  void find_facts(NodeId node);
  void find_groups();
  void find_outside_readers();
  ValueId now(ValueId old);
  void record(NodeId node);
  void record(const Group& group);
  ops::Formula formula_of(const Group& group, std::span<const NodeId> outputs,
                          std::vector<ValueId>& inputs);
  Value copy_of(NodeId node);
  const Op& op_of(ops::Formula formula);

  Tape& tape_;
  const RecordedVertex& vertex_;
  FormulaOps& ops_;
  std::vector<NodeId> nodes_;
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

// What reads no state runs before the levels of the structure.
bool Joiner::may_be_one(NodeId a, NodeId b) const {
  return of(a).joins && of(b).joins && of(a).reads_state == of(b).reads_state &&
         tape_.dim_of(tape_.node(a).value) == tape_.dim_of(tape_.node(b).value);
}

void Joiner::find_facts(NodeId node) {
  Facts& facts = of(node);
  facts.joins = can_join(node);
  for (ValueId id : tape_.inputs_of(node)) {
    const Value& value = tape_.value(id);
    facts.reads_state |= is_state(vertex_, value.node);
    if (is_inner(vertex_, value)) facts.reads_state |= of(value.node).reads_state;
  }
  for (ValueId id : tape_.inputs_of(node)) {
    const Value& value = tape_.value(id);
    if (!is_inner(vertex_, value)) continue;
    const Facts& input = of(value.node);
    const bool is_before = facts.joins ? !may_be_one(value.node, node) : input.joins;
    facts.level = std::max(facts.level, input.level + (is_before ? 1 : 0));
  }
  levels_ = std::max(levels_, facts.level);
}

void Joiner::find_groups() {
  std::vector<Group> all;
  std::vector<std::vector<std::size_t>> of_level(levels_ + 1);
  for (NodeId node : nodes_) {
    if (!of(node).joins) continue;
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
  find_outside_readers();
}

void Joiner::find_outside_readers() {
  const auto note = [&](ValueId id, std::uint32_t reader) {
    const Value& value = tape_.value(id);
    if (!is_inner(vertex_, value)) return;
    Facts& facts = of(value.node);
    facts.is_read_outside |= reader == kNoGroup || facts.group != reader;
    facts.keeps_output |=
        tape_.types().shape(value.shape).size != tape_.type_of(value.node).output_size;
  };
  for (NodeId node : nodes_) {
    for (ValueId id : tape_.inputs_of(node)) note(id, of(node).group);
  }
  for (ValueId id : vertex_.results) {
    note(id, kNoGroup);
    of(tape_.value(id).node).keeps_output = true;  // a state has a gradient of its own
  }
}

// The value that takes the place of one that was recorded first.
ValueId Joiner::now(ValueId old) {
  Value view = tape_.value(old);
  if (!is_inner(vertex_, view)) return old;
  const Value& whole = of(view.node).now;
  if (whole.node == view.node) return old;
  view.node = whole.node;
  view.offset += whole.offset;
  return tape_.add_view(view);
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
    value = tape_.add(*type.op, inputs, attributes, {integers, reals, {}});
  }
  of(node).now = tape_.value(value);
}

void Joiner::record(const Group& group) {
  std::vector<NodeId> outputs;
  std::ranges::copy_if(group.nodes, std::back_inserter(outputs),
                       [&](NodeId node) { return of(node).is_read_outside; });
  std::vector<ValueId> inputs;
  ops::Formula formula = formula_of(group, outputs, inputs);
  if (formula.slots() > ops::Program::kMostSlots) {
    for (NodeId node : group.nodes) record(node);
    return;
  }
  const std::uint32_t size = tape_.shape_of(tape_.node(outputs[0]).value).size;
  const std::uint32_t count = formula.outputs;
  const std::span<const std::uint32_t> attributes(&count, count == 1 ? 0 : 1);
  const std::vector<std::uint32_t> output_of = formula.output_of;
  const Value all = tape_.value(tape_.add(op_of(std::move(formula)), inputs, attributes));
  std::vector<bool> is_kept(count, false);
  std::vector<std::uint32_t> sharers(count, 0);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    ++sharers[output_of[k]];
    if (of(outputs[k]).keeps_output) is_kept[output_of[k]] = true;
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Value& now = of(outputs[k]).now = all;
    now.offset += output_of[k] * size;
    // Parts that readers want of equal ones may overlap.
    if (sharers[output_of[k]] > 1 && is_kept[output_of[k]]) now = copy_of(outputs[k]);
  }
}

Value Joiner::copy_of(NodeId node) {
  Value view = of(node).now;
  view.shape = tape_.value(tape_.node(node).value).shape;
  const ValueId stretch = tape_.add_view(view);
  return tape_.value(tape_.add(ops::identity, std::span(&stretch, 1)));
}

ops::Formula Joiner::formula_of(const Group& group, std::span<const NodeId> outputs,
                                std::vector<ValueId>& inputs) {
  const std::uint32_t number = of(group.nodes[0]).group;
  const auto input_of = [&](ValueId old) {
    const ValueId value = now(old);
    const auto known = std::ranges::find_if(inputs, [&](ValueId other) {
      return Tape::is_same_stretch(tape_.value(other), tape_.value(value));
    });
    const auto index = static_cast<std::uint32_t>(known - inputs.begin());
    if (known == inputs.end()) inputs.push_back(value);
    return index;
  };
  struct Step {
    NodeId node;
    std::vector<std::pair<bool, std::uint32_t>> from;  ///< a node of the group, or an input
  };
  std::vector<Step> steps;
  for (NodeId node : group.nodes) {
    Step step{node, {}};
    const std::vector<ValueId> ids(tape_.inputs_of(node).begin(), tape_.inputs_of(node).end());
    for (ValueId id : ids) {
      const Value value = tape_.value(id);
      const bool inside = is_inner(vertex_, value) && of(value.node).group == number;
      step.from.emplace_back(inside, inside ? value.node : input_of(id));
    }
    steps.push_back(std::move(step));
  }
  return ops::record_formula(
      "elementwise", static_cast<unsigned>(inputs.size()), [&](std::span<const ops::Term> terms) {
        std::map<NodeId, ops::Term> of_node;
        for (const Step& step : steps) {
          std::vector<ops::Term> from;
          for (const auto& [inside, index] : step.from) {
            from.push_back(inside ? of_node.at(index) : terms[index]);
          }
          const Op& op = *tape_.type_of(step.node).op;
          const double real = op.numbers.reals > 0 ? tape_.real_of(step.node, 0) : 0;
          of_node.emplace(step.node, *ops::apply_elementwise(op, from, real));
        }
        std::vector<ops::Term> results;
        for (NodeId node : outputs) results.push_back(of_node.at(node));
        return results;
      });
}

const Op& Joiner::op_of(ops::Formula formula) {
  const auto known =
      std::ranges::find_if(ops_, [&](const auto& op) { return op->program == formula; });
  if (known != ops_.end()) return **known;
  ops_.push_back(make_formula_op("elementwise", std::move(formula)));
  tape_.shared_types()->keep(ops_.back());  // graphs may outlive the function
  return *ops_.back();
}

}  // namespace

RecordedVertex join_elementwise(Tape& tape, const RecordedVertex& vertex, FormulaOps& ops) {
  return Joiner(tape, vertex, ops).run();
}

}  // namespace dynet_like::detail
