// Finding types that differ in one respect: first in shapes alone, then in arguments alone, and so
// on.
#include "dynet_like/report/splits.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "dynet_like/core/text.h"
#include "dynet_like/exec/bounds.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::detail {

namespace {

using Words = std::vector<std::uint64_t>;

// Groups types step by step. A type that has been put into a group is not looked at again.
class Grouping {
 public:
  Grouping(const RunState& state, const Recorded& recorded, std::span<const TypeCount> counts)
      : state_(state), types_(state_.types()), recorded_(recorded) {
    for (TypeId type = 0; type < counts.size(); ++type) {
      if (counts[type].nodes > 0 && is_of_data(type)) left_.push_back(type);
    }
  }

  std::vector<Split> run() {
    group({.attributes = true, .constants = true});
    group({.shapes = true, .constants = true});
    group({.constants = true});
    group({.shapes = true, .attributes = true});
    group({.attributes = true, .inputs = false});
    // A single graph is a model in which every parameter has its own purpose, so do not compare
    // them.
    if (recorded_.samples > 1) {
      group({.shapes = true, .attributes = true, .constants = true, .parameters = false});
    }
    return std::move(splits_);
  }

 private:
  // What the types of a group have in common, besides op and element type.
  struct Common {
    bool shapes = false, attributes = false, constants = false, inputs = true, parameters = true;
  };

  // False for types that all samples have: they are computed once for all samples, or they belong
  // to the model that every sample goes through.
  bool is_of_data(TypeId type) const {
    const Seen& seen = recorded_.of_types[type];
    if (seen.samples == 0 || state_.identity_of(seen.example) != 0) return false;
    return recorded_.samples == 1 || seen.samples < recorded_.samples;
  }

  // The node that the type's example reads as this input.
  NodeRef producer(TypeId type, unsigned input) const {
    const NodeRef example = recorded_.of_types[type].example;
    const Tape& tape = state_.tape(example);
    return {example.tape, tape.value(tape.inputs_of(example.node)[input]).node};
  }
  bool is_constant(TypeId type, unsigned input) const {
    const NodeRef of = producer(type, input);
    const NodeType& type_of = state_.tape(of).type_of(of.node);
    return type_of.inputs == 0 && !type_of.op->is_parameter();
  }

  Words key(TypeId id, const Common& common) const {
    const NodeType& type = types_[id];
    const Signature& signature = type.signature;
    Words words = {reinterpret_cast<std::uintptr_t>(type.op),
                   static_cast<std::uint64_t>(signature.dtype)};
    if (common.inputs) words.push_back(type.inputs);
    // For an op with any number of inputs, only the required inputs must read the same parameters.
    const unsigned compared = common.inputs ? type.inputs : type.op->min_inputs;
    for (unsigned j = 0; j < compared; ++j) {
      const bool is_of_sample = argument_of(type.keys[j]) >= kFirstUniqueArgument;
      const bool counts =
          is_of_sample || (is_shared_constant(id, j) ? common.constants : common.parameters);
      words.push_back(counts ? argument_of(type.keys[j]) : 0);
      if (common.shapes || !common.inputs) words.push_back(shape_of(type.keys[j]));
    }
    if (common.attributes) {
      words.insert(words.end(), signature.attributes.begin(), signature.attributes.end());
    }
    return words;
  }
  bool is_shared_constant(TypeId type, unsigned input) const {
    const std::uint32_t argument = argument_of(types_[type].keys[input]);
    return argument != 0 && argument < kFirstUniqueArgument && is_constant(type, input);
  }

  void group(const Common& common) {
    const bool by_inputs = !common.inputs;
    std::map<Words, std::vector<TypeId>> groups;
    for (TypeId type : left_) groups[key(type, common)].push_back(type);
    left_.clear();
    for (auto& [words, types] : groups) {
      const std::size_t together = by_inputs ? count_beginnings(types) : types.size();
      const std::size_t kept = together < fewest() ? 0 : together;
      left_.insert(left_.end(), types.begin() + static_cast<std::ptrdiff_t>(kept), types.end());
      types.resize(kept);
      if (kept == 0) continue;
      splits_.push_back(describe(std::move(types)));
      sort(splits_.back());
      splits_.back().words = words_of(splits_.back());
    }
    std::sort(left_.begin(), left_.end());
  }

  // A single sample does not show what differs between samples: two shapes are more likely two
  // sizes of the model than two lengths, so at least three are needed.
  std::size_t fewest() const { return recorded_.samples == 1 ? 3 : 2; }

  // Moves types whose inputs are the first inputs of the type with most inputs to the front.
  std::size_t count_beginnings(std::vector<TypeId>& types) const {
    const auto by_inputs = [&](TypeId type) { return types_[type].inputs; };
    const NodeType& most = types_[*std::ranges::max_element(types, {}, by_inputs)];
    const auto is_beginning = [&](TypeId id) {
      const NodeType& type = types_[id];
      return std::equal(type.keys.begin(), type.keys.begin() + type.inputs, most.keys.begin());
    };
    const auto others = std::stable_partition(types.begin(), types.end(), is_beginning);
    return static_cast<std::size_t>(others - types.begin());
  }

  Split describe(std::vector<TypeId> types) const {
    Split split;
    split.types = std::move(types);
    const NodeType& first = types_[split.types[0]];
    const auto any = [&](const auto& differs) {
      return std::any_of(split.types.begin(), split.types.end(),
                         [&](TypeId type) { return differs(types_[type]); });
    };
    if (first.op->max_inputs == 0) {
      split.difference = Difference::shape;
      return split;
    }
    if (any([&](const NodeType& type) { return type.inputs != first.inputs; })) {
      split.difference = Difference::inputs;
      return split;
    }
    for (unsigned j = 0; j < first.inputs; ++j) {
      const Dim& dim = first.signature.inputs[j];
      if (!any([&](const NodeType& type) { return type.signature.inputs[j] != dim; })) continue;
      split.input = j;
      split.difference = difference_of_shapes(split, first);
      return split;
    }
    const bool have_other_attributes = any([&](const NodeType& type) {
      return type.signature.attributes != first.signature.attributes;
    });
    if (have_other_attributes) {
      split.difference = Difference::arguments;
      return split;
    }
    const auto differs = [&](unsigned j) {
      return any([&](const NodeType& type) { return type.keys[j] != first.keys[j]; });
    };
    while (!differs(split.input)) ++split.input;
    split.difference =
        is_constant(first.id, split.input) ? Difference::constants : Difference::parameters;
    return split;
  }

  // Sorts types from small to large.
  void sort(Split& split) const {
    std::ranges::stable_sort(split.types, {}, [&](TypeId id) {
      const Signature& type = types_[id].signature;
      const Dim& dim = type.inputs.empty() ? type.output : type.inputs[split.input];
      std::vector<std::uint32_t> words = {types_[id].inputs};
      words.insert(words.end(), dim.d, dim.d + dim.nd);
      words.insert(words.end(), type.attributes.begin(), type.attributes.end());
      return words;
    });
  }

  // Whether only last dimensions differ, and whether the op treats each column by itself.
  Difference difference_of_shapes(Split& split, const NodeType& first) const {
    unsigned rank = 0;
    for (const Dim& dim : first.signature.inputs) rank = std::max(rank, dim.nd);
    Difference result = Difference::length;
    for (unsigned j = 0; j < first.inputs; ++j) {
      Dim common = first.signature.inputs[j];
      for (TypeId type : split.types) {
        const Dim& dim = types_[type].signature.inputs[j];
        if (dim == common) continue;
        if (dim.nd != common.nd || common.nd == 0) return Difference::shape;
        Dim without = dim;
        without.set(dim.nd - 1, common[dim.nd - 1]);
        if (without != common) return Difference::shape;
        const bool is_taken_by_column =
            first.op->batching.by_column != nullptr && rank >= 2 && dim.nd == rank &&
            first.op->batching.by_column(j, rank, first.signature.attributes);
        if (!is_taken_by_column || result == Difference::columns) continue;
        result = Difference::columns;
        split.input = j;
      }
    }
    return result;
  }

  std::string words_of(const Split& split) const {
    std::vector<std::string> values;
    for (TypeId type : split.types) values.push_back(value_of(split, type));
    const bool has_input = types_[split.types[0]].inputs > 0;
    const std::string what = split.difference == Difference::inputs      ? "the number of inputs is"
                             : split.difference == Difference::arguments ? "arguments are"
                             : has_input ? "input " + std::to_string(split.input) + " is"
                                         : "the shape is";
    return what + ' ' + listed(std::move(values));
  }

  std::string value_of(const Split& split, TypeId id) const {
    const Signature& type = types_[id].signature;
    std::ostringstream value;
    switch (split.difference) {
      case Difference::inputs:
        return std::to_string(type.inputs.size());
      case Difference::arguments:
        for (std::size_t i = 0; i < type.attributes.size(); ++i) {
          value << (i > 0 ? "," : "") << type.attributes[i];
        }
        return '(' + value.str() + ')';
        break;
      case Difference::constants:
      case Difference::parameters:
        return name_of(producer(id, split.input));
      default:
        value << (type.inputs.empty() ? type.output : type.inputs[split.input]);
    }
    return value.str();
  }

  // The name of an input that all nodes of a type share.
  std::string name_of(NodeRef argument) const {
    const Tape& tape = state_.tape(argument);
    const Op& op = *tape.type_of(argument.node).op;
    const std::string& label = label_of(tape, argument.node);
    if (!label.empty()) return quoted_text(label);
    if (op.is_parameter()) return quoted_text(tape.storage_of(argument.node).name);
    std::ostringstream name;
    name << op.name;
    if (&op == &ops::constant) name << ' ' << tape.real_of(argument.node, 0);
    return name.str();
  }

  const RunState& state_;
  const TypeTable& types_;
  const Recorded& recorded_;
  std::vector<TypeId> left_;
  std::vector<Split> splits_;
};

}  // namespace

std::vector<Split> find_splits(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts) {
  std::vector<Split> splits = Grouping(*runs[0], recorded, counts).run();
  // Each type by itself, at first.
  std::vector<std::uint32_t> merged(runs[0]->types().type_count());
  for (std::uint32_t type = 0; type < merged.size(); ++type) merged[type] = type;
  for (const Split& split : splits) {
    for (TypeId type : split.types) merged[type] = split.types[0];
  }
  std::vector<std::uint64_t> bounds(merged.size());
  for (const RunState* run : runs) {
    const std::vector<std::uint32_t> chains = longest_chains(*run, merged);
    for (std::size_t type = 0; type < chains.size(); ++type) bounds[type] += chains[type];
  }
  const auto& released = runs[0]->common.released_bounds;
  for (Split& split : splits) {
    std::uint64_t released_bound = 0;
    for (TypeId type : split.types) {
      const auto found = released.find(type);
      if (found != released.end()) released_bound = std::max(released_bound, found->second);
    }
    split.bound = bounds[split.types[0]] + released_bound;
  }
  return splits;
}

}  // namespace dynet_like::detail
