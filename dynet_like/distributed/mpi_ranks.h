// Ranks that are processes of MPI. Programs that use them link dynet_like::mpi, no others do.
#pragma once

#include <chrono>
#include <memory>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like {

/// How long a rank waits for others: DYNET_LIKE_RANK_TIME_LIMIT seconds of the environment, or 10
/// minutes. Throws UsageError for a limit that is no number above 0.
std::chrono::duration<double> rank_time_limit();

/// Whether this process was started by mpirun, srun or the like, so that others may be there.
bool is_started_by_mpi();

/// All processes that were started together (MPI_COMM_WORLD). Starts MPI unless it is there, and
/// ends it when the communicator is destroyed if it has started it. Make it once per process,
/// before any thread, and destroy it in the thread that has made it. Whoever destroys it while
/// others wait for it lets them wait: a program that fails calls Communicator::fail().
std::shared_ptr<Communicator> mpi_ranks(
    std::chrono::duration<double> time_limit = rank_time_limit());

}  // namespace dynet_like
