// Writes a recorded graph for Graphviz.
#include "dynet_like/graph/graphviz.h"

#include <ostream>

#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like {

using namespace detail;

namespace {

// Labels are arbitrary text of the user.
std::string escaped(const std::string& label) {
  std::string result;
  for (const char c : visible_text(label)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

void write_graphviz(std::ostream& out, const ComputationGraph& graph) {
  const Tape& tape = graph.record().tape();
  const OneThread::Use use(tape.user());
  out << "digraph dynet_like {\n  rankdir=LR;\n  node [shape=box];\n";
  for (NodeId node = 0; node < tape.size(); ++node) {
    const std::string& label = label_of(tape, node);
    out << "  n" << node << " [label=\"" << node << ' '
        << escaped(std::string(tape.type_of(node).op->name)) << "\\n"
        << (label.empty() ? "" : escaped(label) + "\\n") << tape.dim_of(tape.node(node).value)
        << "\"];\n";
    for (const ValueId input : tape.inputs_of(node)) {
      out << "  n" << tape.value(input).node << " -> n" << node << ";\n";
    }
  }
  out << "}\n";
}

}  // namespace dynet_like
