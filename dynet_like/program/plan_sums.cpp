// How gradients are summed inside a vertex.
#include <algorithm>
#include <array>
#include <map>

#include "dynet_like/core/sum_order.h"
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
    look_at_results();
    for (std::uint32_t sum = 0; sum < sums_.inputs.size(); ++sum) choose(sum);
    look_at_columns(columns);
    find_readers();
  }

 private:
  void find_turns();
  void look_at_results();
  void choose(std::uint32_t sum);
  bool is_begun(std::uint32_t sum) const;
  void look_at_columns(std::span<const std::uint32_t> columns);
  void find_readers();

  Program& program_;
  const Sums& sums_;
  const TypeTable& types_;
  std::vector<bool> is_result_;      ///< by member
  std::vector<std::uint32_t> turn_;  ///< by input: when its step runs backward
};

void SumPlan::find_turns() {
  turn_.resize(program_.inputs.size());
  for (std::uint32_t turn = 0; turn < program_.backward.size(); ++turn) {
    for (const std::uint16_t m : program_.steps[program_.backward[turn]].members) {
      const Program::Member& member = program_.members[m];
      std::fill_n(turn_.begin() + member.first_input, member.inputs, turn);
    }
  }
}

// What a result gets from outside is there before anything in the vertex contributes.
void SumPlan::look_at_results() {
  is_result_.assign(program_.members.size(), false);
  std::vector<std::size_t> of_results(program_.members.size(), 0);
  for (std::size_t s = 0; s < program_.results.size(); ++s) {
    const Program::Result& result = program_.results[s];
    is_result_[result.member] = true;
    of_results[result.member] += result.elements;
    if (sums_.covered[result.member] > 0) program_.adds_to_results = true;
    for (std::size_t t = 0; t < s; ++t) {
      const Program::Result& other = program_.results[t];
      if (other.member == result.member && other.offset < result.offset + result.elements &&
          result.offset < other.offset + other.elements) {
        program_.members[result.member].clears = true;
        program_.adds_to_results = program_.results_overlap = true;
      }
    }
  }
  for (std::size_t m = 0; m < program_.members.size(); ++m) {
    const std::size_t size = types_[program_.members[m].type].output_size;
    const std::size_t there = is_result_[m] ? of_results[m] : sums_.covered[m];
    if (there != size) program_.members[m].clears = true;
  }
}

bool SumPlan::is_begun(std::uint32_t sum) const {
  const Program::Input& input = program_.inputs[sums_.inputs[sum][0]];
  return input.from == From::member &&
         (is_result_[input.index] || program_.members[input.index].clears);
}

void SumPlan::choose(std::uint32_t sum) {
  if (sums_.inputs[sum].empty()) return;
  SumOrder order;
  bool begun = is_begun(sum);
  for (const std::uint32_t e : sums_.inputs[sum]) {
    Program::Input& input = program_.inputs[e];
    input.waits = !order.takes(turn_[e]);
    if (input.waits && input.from == From::member) {
      program_.steps[program_.members[input.index].step].sums_slots = true;
    }
    if (input.waits) continue;
    input.adds = begun;
    begun = true;
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
  using Part = std::array<std::uint32_t, 3>;  // of which member, first element, end
  std::map<Part, std::uint32_t> parts;        // their sums
  for (std::uint32_t e = 0; e < program.inputs.size(); ++e) {
    const Program::Input& input = program.inputs[e];
    if (!has_gradient(program, input)) continue;
    if (input.from == From::port) {
      of_input[e] = input.index;
    } else {
      const std::uint32_t end = input.offset + types.shape(input.shape).size;
      const auto [part, is_new] = parts.try_emplace({input.index, input.offset, end},
                                                    static_cast<std::uint32_t>(inputs.size()));
      if (is_new) inputs.emplace_back();
      of_input[e] = part->second;
    }
    inputs[of_input[e]].push_back(e);
  }
  covered.assign(program.members.size(), 0);
  std::uint32_t member = none, end_of_all = 0;
  for (const auto& [part, sum] : parts) {
    if (part[0] != member) end_of_all = 0;
    member = part[0];
    overlap |= part[1] < end_of_all;
    end_of_all = std::max(end_of_all, part[2]);
    covered[member] += part[2] - part[1];
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
