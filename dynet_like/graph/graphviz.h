// Draws a recorded graph, in Graphviz' language.
#pragma once

#include <iosfwd>

namespace dynet_like {

class ComputationGraph;

/// Writes a box for each node, with its number, operation, label and shape, and an arrow from it to
/// every node that reads it. `dot -Tsvg` makes a picture.
void write_graphviz(std::ostream& out, const ComputationGraph& graph);

}  // namespace dynet_like
