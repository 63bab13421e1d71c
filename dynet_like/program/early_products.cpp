// Products that read no state, in steps that do.
#include <algorithm>

#include "dynet_like/program/passes.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

bool is_ready(const Program& program, const Program::Input& input) {
  if (input.from == From::port) return !program.ports[input.index].is_state;
  return input.from == From::member && program.steps[program.members[input.index].step].is_hoisted;
}

bool is_only_addend(const Program& program, const Sums& sums, std::uint32_t e) {
  if (sums.of_input[e] == Sums::none) return true;
  const Program::Input& input = program.inputs[e];
  const bool overlaps = input.from == From::member && sums.overlap[input.index];
  return !overlaps && sums.inputs[sums.of_input[e]].size() == 1;
}

}  // namespace

void find_early_products(Program& program, const Sums& sums, const TypeTable& types) {
  for (Program::Step& step : program.steps) {
    const Signature& type = types[step.type].signature;
    if (step.is_hoisted || type.op->early == nullptr) continue;
    std::uint64_t ready = 0;
    for (unsigned j = 0; j < type.inputs.size(); ++j) {
      const bool is_early = std::ranges::all_of(step.members, [&](std::uint16_t m) {
        const std::uint32_t e = program.members[m].first_input + j;
        return is_ready(program, program.inputs[e]) && is_only_addend(program, sums, e);
      });
      ready |= std::uint64_t{is_early} << j;
    }
    step.early = type.op->early(type, ready);
  }
}

}  // namespace dynet_like::detail
