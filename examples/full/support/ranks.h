// The processes that train an example together, started by mpirun.
#pragma once

#include <memory>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like::examples {

/// All processes that were started together, or null if this one was started alone. Throws
/// UsageError if there are others, but the program was built without MPI.
std::shared_ptr<Communicator> started_ranks();

/// How many of them run on this machine.
unsigned ranks_here(Communicator& ranks);

/// Discards this process's standard output from now on, since rank 0 prints the same.
void silence_output();

}  // namespace dynet_like::examples
