// A node in messages.
#include "dynet_like/tape/node_text.h"

namespace dynet_like::detail {

namespace {

std::string names_of_inputs(const Tape& tape, NodeId node) {
  constexpr int kMost = 4;
  std::string result;
  int shown = 0;
  for (const ValueId input : tape.inputs_of(node)) {
    const std::string& name = name_of(tape, tape.value(input).node);
    if (name.empty() || shown == kMost) continue;
    result += (shown++ == 0 ? ", of \"" : ", \"") + name + '"';
  }
  return result;
}

}  // namespace

std::string text_of(const Tape& tape, std::uint32_t sample, NodeId node) {
  const std::string& label = label_of(tape, node);
  return std::string(tape.type_of(node).op->name) + ", node " + std::to_string(node) +
         " of sample " + std::to_string(sample) + (label.empty() ? "" : " (\"" + label + "\")") +
         names_of_inputs(tape, node);
}

}  // namespace dynet_like::detail
