// RecordedStates: states of vertices as views of one node.
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/recording.h"
#include "dynet_like/graph/traced_function.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

Expression RecordedStates::all(std::size_t state) const {
  Dim dim = op->state_dims[state];
  dim.add_dim(size);
  return view(op->state_offsets[state] * size, dim);
}

Expression RecordedStates::one(std::size_t state, std::uint32_t vertex) const {
  if (vertex >= size) {
    throw UsageError("[" + op->its_name + "] need a vertex below " + std::to_string(size) +
                     "; got " + std::to_string(vertex));
  }
  return view(op->state_offsets[state] * size + vertex * op->state_sizes[state],
              op->state_dims[state]);
}

Expression RecordedStates::view(std::uint32_t offset, const Dim& dim) const {
  const recording::Recorder graph = recording::graph_of(op->its_name, node);
  const Tape& tape = graph.tape();
  Value view = tape.value(node.i);
  view.offset += offset;
  view.shape = tape.cache().shape(dim, op->dtype);
  view.items = 1;
  view.stride = dim.batch_size();
  return graph.expression(graph.writer().add_view(view));
}

}  // namespace dynet_like::detail
