// The shared inputs of a recursion's programs: described once, and recorded on the tapes of its
// nodes.
#include <algorithm>
#include <map>

#include "dynet_like/ops/structured.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

namespace {

class RecipeWriter {
 public:
  explicit RecipeWriter(const Tape& tape) : tape_(tape) {}

  std::uint32_t write(ValueId id) {
    const Value& value = tape_.value(id);
    const std::uint32_t node = write_node(value.node);
    const Value& whole = tape_.value(tape_.node(value.node).value);
    if (value.is_same_stretch(whole)) return node;
    SharedRecipe recipe;
    recipe.kind = SharedRecipe::Kind::view;
    recipe.inputs = {node};
    recipe.dim = tape_.dim_of(id);
    recipe.offset = value.offset;
    recipe.stride = value.stride;
    recipe.stops_gradient = value.blocks_gradient && !whole.blocks_gradient;
    all.push_back(std::move(recipe));
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  std::vector<SharedRecipe> all;

 private:
  std::uint32_t write_node(NodeId node) {
    const auto [known, is_new] = of_node_.try_emplace(node, 0);
    if (is_new) {
      SharedRecipe recipe = recipe_of(node);
      all.push_back(std::move(recipe));
      of_node_[node] = static_cast<std::uint32_t>(all.size() - 1);
    }
    return of_node_[node];
  }

  SharedRecipe recipe_of(NodeId node) {
    const NodeType& type = tape_.type_of(node);
    const ValueId output = tape_.node(node).value;
    SharedRecipe recipe;
    if (type.op->is_parameter()) {
      recipe.parameter = tape_.shared_storage_of(node);
      recipe.stops_gradient = tape_.value(output).blocks_gradient;
      return recipe;
    }
    recipe.dim = tape_.dim_of(output);
    for (std::size_t r = 0; r < type.op->numbers.reals * tape_.value(output).items; ++r) {
      recipe.reals.push_back(tape_.real_of(node, r));
    }
    recipe.kind = SharedRecipe::Kind::constant;
    if (type.inputs == 0) return recipe;
    recipe.kind = SharedRecipe::Kind::operation;
    recipe.op = type.op;
    recipe.owner = tape_.types().owner_of(type.op);
    recipe.attributes = type.signature.attributes;
    const std::span<const std::uint32_t> integers = tape_.integers_of(node);
    recipe.integers.assign(integers.begin(), integers.end());
    for (ValueId input : tape_.inputs_of(node)) recipe.inputs.push_back(write(input));
    return recipe;
  }

  const Tape& tape_;
  std::map<NodeId, std::uint32_t> of_node_;
};

}  // namespace

std::vector<SharedRecipe> make_recipes(const Tape& tape, std::span<const ValueId> values,
                                       std::vector<std::uint32_t>& shared) {
  RecipeWriter writer(tape);
  shared.clear();
  for (ValueId value : values) shared.push_back(writer.write(value));
  return std::move(writer.all);
}

SharedInputs& RecursionOp::shared_inputs(const std::shared_ptr<const RecursionOp>& op,
                                         TapeWriter& writer) {
  const auto is_frozen = [](const SharedRecipe& recipe) {
    return recipe.parameter != nullptr && recipe.parameter->frozen;
  };
  for (SharedInputs& known : writer.shared_inputs()) {
    if (known.op == op && std::ranges::equal(op->recipes, known.frozen, {}, is_frozen)) {
      return known;
    }
  }
  SharedInputs made;
  made.op = op;
  for (const SharedRecipe& recipe : op->recipes) made.frozen.push_back(is_frozen(recipe));
  made.values = op->add_shared(writer);
  return writer.keep(std::move(made));
}

std::vector<ValueId> RecursionOp::add_shared(TapeWriter& writer) const {
  std::vector<ValueId> values, arguments;
  for (const SharedRecipe& recipe : recipes) {
    arguments.clear();
    for (std::uint32_t input : recipe.inputs) arguments.push_back(values[input]);
    switch (recipe.kind) {
      case SharedRecipe::Kind::parameter:
        values.push_back(writer.add_parameter(*recipe.parameter, recipe.stops_gradient));
        break;
      case SharedRecipe::Kind::constant:
        values.push_back(
            writer.add_source(ops::constant, recipe.dim, std::span(recipe.reals).first(1)));
        break;
      case SharedRecipe::Kind::operation:
        if (recipe.owner != nullptr) writer.keep(recipe.owner);
        values.push_back(writer.add(*recipe.op, arguments, recipe.attributes,
                                    {recipe.integers, recipe.reals, {}}));
        break;
      case SharedRecipe::Kind::view: {
        Value view = writer.tape().value(arguments[0]);
        view.offset += recipe.offset;
        view.shape = writer.tape().cache().shape(recipe.dim, dtype);
        view.items = recipe.dim.bd;
        view.stride = recipe.stride;
        view.blocks_gradient |= recipe.stops_gradient;
        view.reaches_parameter &= !recipe.stops_gradient;
        values.push_back(writer.add_view(view));
      }
    }
  }
  std::vector<ValueId> inputs;
  for (std::uint32_t number : shared) inputs.push_back(values[number]);
  return inputs;
}

}  // namespace dynet_like::detail
