// Decides which members share a call, and which of these run before all levels.
#include <algorithm>
#include <unordered_map>

#include "batching/dag_builder.h"
#include "batching/planner.h"
#include "dynet_like/program/passes.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

// The members in the order of their batches, as the planner orders nodes.
std::vector<std::vector<std::uint32_t>> plan_members(const Program& program) {
  batching::DagBuilder dag;
  std::unordered_map<TypeId, std::uint32_t> types;
  std::vector<std::uint32_t> sources;
  for (std::size_t m = 0; m < program.members.size(); ++m) {
    const auto next = static_cast<std::uint32_t>(types.size());
    const std::uint32_t number = types.try_emplace(program.members[m].type, next).first->second;
    sources.clear();
    for (const Program::Input& input : program.inputs_of(m)) {
      if (input.from == From::member) sources.push_back(input.index);
    }
    dag.add(number, sources);
  }
  batching::Planner planner;
  const batching::Schedule& schedule = planner.plan(dag.dag(), batching::Policy::automatic);
  std::vector<std::vector<std::uint32_t>> batches;
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    const std::span<const std::uint32_t> batch = schedule.batch(b);
    std::ranges::sort(batches.emplace_back(batch.begin(), batch.end()));
  }
  return batches;
}

// Two members that contribute to one gradient must not be in one call. `step_of_sum`: the last step
// that contributes to a sum.
bool takes_sums(const Program& program, const Sums& sums, std::size_t member, std::uint32_t step,
                std::vector<std::uint32_t>& step_of_sum) {
  const Program::Member& m = program.members[member];
  const auto its_sums = std::span(sums.of_input).subspan(m.first_input, m.inputs);
  const bool is_first = program.steps[step].members.empty();
  const auto is_taken = [&](std::uint32_t sum) {
    return sum != Sums::none && step_of_sum[sum] == step;
  };
  if (!is_first && std::ranges::any_of(its_sums, is_taken)) return false;
  for (const std::uint32_t sum : its_sums) {
    if (sum != Sums::none) step_of_sum[sum] = step;
  }
  return true;
}

bool reads_state(const Program& program, const Program::Step& step) {
  return std::ranges::any_of(step.members, [&](std::uint16_t m) {
    return std::ranges::any_of(program.inputs_of(m), [&](const Program::Input& input) {
      return (input.from == From::port && program.ports[input.index].is_state) ||
             (input.from == From::member &&
              !program.steps[program.members[input.index].step].is_hoisted);
    });
  });
}

}  // namespace

// A step comes after the steps that it reads.
void order_steps(Program& program, const Sums& sums) {
  std::vector<std::uint32_t> step_of_sum(sums.inputs.size(), Sums::none);
  for (std::vector<std::uint32_t>& left : plan_members(program)) {
    while (!left.empty()) {
      const auto s = static_cast<std::uint16_t>(program.steps.size());
      Program::Step& step = program.steps.emplace_back();
      step.type = program.members[left.front()].type;
      std::erase_if(left, [&](std::uint32_t m) {
        if (!takes_sums(program, sums, m, s, step_of_sum)) return false;
        program.members[m].step = s;
        program.members[m].position = static_cast<std::uint16_t>(step.members.size());
        step.members.push_back(static_cast<std::uint16_t>(m));
        return true;
      });
      step.is_hoisted = !reads_state(program, step);
    }
  }
}

}  // namespace dynet_like::detail
