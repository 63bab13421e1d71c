// Ranks that are MPI processes. Only programs that use them link dynet_like::mpi.
#pragma once

#include <chrono>
#include <memory>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like {

/// How long a rank waits for others: the environment variable DYNET_LIKE_RANK_TIME_LIMIT in
/// seconds, or 10 minutes. Throws UsageError if its value is not a number above 0.
std::chrono::duration<double> rank_time_limit();

/// Whether this process was started by mpirun, srun or the like, so that there may be others.
bool is_started_by_mpi();

/// All processes that were started together (MPI_COMM_WORLD). Initializes MPI if it is not
/// initialized yet; then destroying the communicator finalizes MPI. Make it once per process,
/// before any thread, and destroy it in the same thread. If a program fails, call
/// Communicator::fail(): if it only destroys the communicator, the other ranks keep waiting.
std::shared_ptr<Communicator> mpi_ranks(
    std::chrono::duration<double> time_limit = rank_time_limit());

}  // namespace dynet_like
