// Where the part of a graph that is a cell begins and ends.
#include "dynet_like/graph/cell.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::detail::cell_arguments {

namespace {

Tape& tape_of(ComputationGraph* graph) {
  if (graph != nullptr) return graph->tape();
  throw UsageError("[cell] need an argument that knows its graph; got empty ones only");
}

}  // namespace

Scope::Scope(ComputationGraph* graph, std::string_view name) : tape_(tape_of(graph)) {
  tape_.begin_cell(name);
}

Scope::~Scope() { tape_.end_cell(); }

}  // namespace dynet_like::detail::cell_arguments
