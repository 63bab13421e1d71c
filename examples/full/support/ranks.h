// The processes that train an example together: those that mpirun has started.
#pragma once

#include <memory>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like::examples {

/// All processes that were started together, or null if this one was started alone. Throws
/// UsageError if there are others and the program was built without MPI.
std::shared_ptr<Communicator> started_ranks();

/// How many of them are on this machine.
unsigned ranks_here(Communicator& ranks);

/// What this process prints on standard output goes nowhere from now on: rank 0 prints the same.
void silence_output();

}  // namespace dynet_like::examples
