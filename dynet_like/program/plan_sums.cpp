// How gradients are summed within a vertex.
#include <algorithm>
#include <array>
#include <map>

#include "dynet_like/program/passes.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

bool has_gradient(const Program& program, const Program::Input& input) {
  if (input.from == From::argument || input.blocks_gradient) return false;
  return input.from == From::member || !program.ports[input.index].blocks_gradient;
}

class SumPlan {
 public:
  SumPlan(Program& program, const Sums& sums, const TypeTable& types)
      : program_(program), sums_(sums), types_(types) {}

  void make(std::span<const std::uint32_t> columns) {
    find_turns();
    look_at_members();
    for (const std::vector<std::uint32_t>& sum : sums_.inputs) choose(sum);
    look_at_columns(columns);
    find_readers();
  }

 private:
  void find_turns();
  void look_at_members();
  void choose(std::span<const std::uint32_t> sum);
  bool is_result(const Program::Input& input) const;
  std::size_t part_size(std::size_t member) const {
    return detail::part_size(types_[program_.members[member].type].signature);
  }
  void look_at_columns(std::span<const std::uint32_t> columns);
  void find_readers();

  Program& program_;
  const Sums& sums_;
  const TypeTable& types_;
  std::vector<std::uint32_t> turn_;  ///< by input: the turn of its step in the backward pass
};

// Steps run backward in reverse, the hoisted ones after all levels.
void SumPlan::find_turns() {
  turn_.resize(program_.inputs.size());
  const auto steps = static_cast<std::uint32_t>(program_.steps.size());
  for (const Program::Member& member : program_.members) {
    const std::uint32_t after = program_.steps[member.step].is_hoisted ? steps : 0;
    std::fill_n(turn_.begin() + member.first_input, member.inputs, after + steps - member.step);
  }
}

// The gradient of a result is there before anything in the vertex contributes. Other parts of a
// member start from zeros unless the vertex writes every element of them first.
void SumPlan::look_at_members() {
  std::vector<std::size_t> left(program_.members.size());  // elements without a contribution
  for (std::size_t m = 0; m < left.size(); ++m) {
    left[m] = types_[program_.members[m].type].output_size;
  }
  for (const Program::Result& result : program_.results) {
    left[result.member] -= part_size(result.member);
  }
  for (const std::vector<std::uint32_t>& sum : sums_.inputs) {
    if (sum.empty()) continue;
    const Program::Input& input = program_.inputs[sum[0]];
    if (input.from == From::member && !is_result(input)) {
      left[input.index] -= types_.shape(input.shape).size;
    }
  }
  for (std::size_t m = 0; m < left.size(); ++m) {
    program_.members[m].clears = sums_.overlap[m] || left[m] != 0;
  }
}

bool SumPlan::is_result(const Program::Input& input) const {
  const auto part = static_cast<std::uint32_t>(input.offset / part_size(input.index));
  return std::ranges::find(program_.results, Program::Result{input.index, part}) !=
         program_.results.end();
}

void SumPlan::choose(std::span<const std::uint32_t> sum) {
  if (sum.empty()) return;
  const Program::Input& first = program_.inputs[sum[0]];
  const bool of_member = first.from == From::member;
  SumOrder order(of_member && (program_.members[first.index].clears || is_result(first)));
  if (of_member && sums_.overlap[first.index]) order.close();
  for (const std::uint32_t e : sum) {
    Program::Input& input = program_.inputs[e];
    input.arrival = order.next(turn_[e]);
    if (of_member && waits(input.arrival)) {
      program_.steps[program_.members[input.index].step].sums_slots = true;
    }
  }
}

void SumPlan::look_at_columns(std::span<const std::uint32_t> columns) {
  std::vector<std::size_t> covered(columns.size(), 0);
  program_.adds_once.assign(columns.size(), true);
  for (std::uint32_t p = 0; p < program_.ports.size(); ++p) {
    const Program::Port& port = program_.ports[p];
    if (port.is_state || port.blocks_gradient || sums_.inputs[p].empty()) continue;
    covered[port.index] += port.elements;
    if (sums_.inputs[p].size() > 1) program_.adds_once[port.index] = false;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    program_.covers_columns.push_back(covered[i] == columns[i]);
  }
}

void SumPlan::find_readers() {
  for (std::uint32_t m = 0; m < program_.members.size(); ++m) {
    for (std::uint32_t j = 0; j < program_.members[m].inputs; ++j) {
      if (program_.inputs_of(m)[j].from == From::argument) program_.readers.push_back({m, j});
    }
  }
  std::ranges::stable_sort(program_.readers, {}, [&](const Program::Reader& reader) {
    return program_.inputs_of(reader.member)[reader.input].turn;
  });
}

}  // namespace

Sums::Sums(const Program& program, const TypeTable& types)
    : of_input(program.inputs.size(), none), inputs(program.ports.size()) {
  using Stretch = std::array<std::uint32_t, 3>;  // member, first element, end
  std::map<Stretch, std::uint32_t> stretches;    // the sums of these
  for (std::uint32_t e = 0; e < program.inputs.size(); ++e) {
    const Program::Input& input = program.inputs[e];
    if (!has_gradient(program, input)) continue;
    if (input.from == From::port) {
      of_input[e] = input.index;
    } else {
      const std::uint32_t end = input.offset + types.shape(input.shape).size;
      const auto [stretch, is_new] = stretches.try_emplace(
          {input.index, input.offset, end}, static_cast<std::uint32_t>(inputs.size()));
      if (is_new) inputs.emplace_back();
      of_input[e] = stretch->second;
    }
    inputs[of_input[e]].push_back(e);
  }
  overlap.assign(program.members.size(), false);
  std::uint32_t member = none, end_of_all = 0;
  for (const auto& [stretch, sum] : stretches) {
    if (stretch[0] != member) end_of_all = 0;
    member = stretch[0];
    if (stretch[1] < end_of_all) overlap[member] = true;
    end_of_all = std::max(end_of_all, stretch[2]);
  }
  for (std::vector<std::uint32_t>& all : inputs) {
    std::ranges::stable_sort(all, std::ranges::greater(),
                             [&](std::uint32_t e) { return program.inputs[e].turn; });
  }
}

void plan_sums(Program& program, const Sums& sums, const TypeTable& types,
               std::span<const std::uint32_t> columns) {
  SumPlan(program, sums, types).make(columns);
}

}  // namespace dynet_like::detail
