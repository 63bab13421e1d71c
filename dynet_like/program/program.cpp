// The text form of programs, and their comparison.
#include "dynet_like/program/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

std::string text_of(const Program& program, const Program::Input& input) {
  std::string text;
  if (input.from == From::member) {
    text = fmt::format("%{}", input.index);
    if (input.offset > 0) text += fmt::format("+{}", input.offset);
  } else if (input.from == From::argument) {
    text = fmt::format("argument {}", input.index);
  } else {
    const Program::Port& port = program.ports[input.index];
    text = port.is_state ? fmt::format("state {} of {}", port.index, port.predecessor)
                         : fmt::format("column {}", port.index);
    if (port.offset > 0) text += fmt::format("+{}", port.offset);
  }
  if (waits(input.arrival)) return text + " (slot)";
  return input.arrival == Arrival::added ? text + " (+)" : text;
}

}  // namespace

std::string to_string(const Program& program, const TypeTable& types) {
  std::string text;
  for (const Program::Step& step : program.steps) {
    text += step.is_hoisted ? "before all levels: " : "";
    for (const std::uint16_t m : step.members) {
      text += fmt::format("%{} = {}(", m, types[step.type].op->name);
      bool is_first = true;
      for (const Program::Input& input : program.inputs_of(m)) {
        text += (is_first ? "" : ", ") + text_of(program, input);
        is_first = false;
      }
      text += m == step.members.back() ? ")\n" : "), ";
    }
  }
  for (std::size_t s = 0; s < program.results.size(); ++s) {
    const Program::Result& result = program.results[s];
    text += fmt::format("state {} = %{}", s, result.member);
    const std::size_t offset =
        result.part * part_size(types[program.members[result.member].type].signature);
    text += offset > 0 ? fmt::format("+{}\n", offset) : "\n";
  }
  return text;
}

bool does_the_same(const Program& a, const Program& b, const TypeTable& types) {
  const auto same_member = [&](const Program::Member& m, const Program::Member& n) {
    const Signature &s = types[m.type].signature, &t = types[n.type].signature;
    return s.op == t.op && s.attributes == t.attributes && s.inputs == t.inputs &&
           m.numbers == n.numbers;
  };
  const auto same_input = [](const Program::Input& i, const Program::Input& j) {
    return i.from == j.from && i.index == j.index && i.offset == j.offset;
  };
  return std::ranges::equal(a.members, b.members, same_member) &&
         std::ranges::equal(a.inputs, b.inputs, same_input) && a.ports == b.ports &&
         a.results == b.results;
}

}  // namespace dynet_like::detail
