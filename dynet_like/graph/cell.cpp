// What is wrong with the arguments of a cell.
#include "dynet_like/graph/cell.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::cell_arguments {

ComputationGraph& Scope::throw_no_graph() {
  throw UsageError("[cell] need an argument that knows its graph; got empty ones only");
}

}  // namespace dynet_like::cell_arguments
