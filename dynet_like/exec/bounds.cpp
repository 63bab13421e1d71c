// The longest chains of nodes of one type.
#include "dynet_like/exec/bounds.h"

#include "batching/lower_bound.h"

namespace dynet_like::detail {

namespace {

struct RanNodes {
  std::vector<std::uint32_t> type, first_input{0}, inputs;

  std::vector<std::uint32_t> longest_chains(std::size_t types) const {
    return batching::longest_chains({static_cast<std::uint32_t>(types), type, first_input, inputs});
  }
};

// The nodes that ran in a lane. `number` renumbers their types.
template <class Number>
RanNodes ran_nodes(const RunState& run, const Number& number) {
  RanNodes all;
  std::vector<std::uint32_t> index;
  for (std::uint32_t t = run.first_tape; t < run.end_tape; ++t) {
    const TapeState& tape = run.tapes()[t];
    index.assign(tape.nodes.size(), kNone);
    for (NodeId node = 0; node < tape.nodes.size(); ++node) {
      if (!tape.nodes[node].has_run()) continue;
      index[node] = static_cast<std::uint32_t>(all.type.size());
      all.type.push_back(number(tape.tape->node(node).type));
      for (ValueId input : tape.tape->inputs_of(node)) {
        const std::uint32_t producer = index[tape.tape->value(input).node];
        if (producer != kNone) all.inputs.push_back(producer);
      }
      all.first_input.push_back(static_cast<std::uint32_t>(all.inputs.size()));
    }
  }
  return all;
}

}  // namespace

std::vector<std::uint32_t> longest_chains(const RunState& run,
                                          std::span<const std::uint32_t> merged) {
  const auto number = [&](TypeId type) { return merged.empty() ? type : merged[type]; };
  return ran_nodes(run, number).longest_chains(run.types().type_count());
}

void count_released_bounds(RunState& run, MetNumbers& types) {
  if (run.tapes().empty() || run.batches.empty()) return;
  types.begin(run.types().type_count());
  const RanNodes nodes = ran_nodes(run, [&](TypeId type) { return types.number(type); });
  const std::vector<std::uint32_t> bounds = nodes.longest_chains(types.all().size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    run.common.released_bounds[types.all()[i]] += bounds[i];
  }
}

}  // namespace dynet_like::detail
