// What was recorded as a picture, in Graphviz' language.
#pragma once

#include <iosfwd>

namespace dynet_like {

class ComputationGraph;

/// A box per node with its number, operation, label and shape, and an arrow from every node to
/// those that read it: `dot -Tsvg` draws it.
void write_graphviz(std::ostream& out, const ComputationGraph& graph);

}  // namespace dynet_like
