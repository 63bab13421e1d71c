// An example as a program of SimGrid's MPI: its clock is the simulated one, so that what it prints
// is of the simulated machines. bench/scaling.py compiles it.
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

#include <chrono>

/// The example's main.
int program_main(int count, char** words);

// The ranks are one process: one that silences itself would silence all.
extern "C" int dup2(int /*from*/, int to) { return to; }

std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  const double seconds = sg_actor_self() != nullptr ? MPI_Wtime() : simgrid_get_clock();
  return time_point(duration_cast<duration>(std::chrono::duration<double>(seconds)));
}

// In the place of MPI_Testall: a rank that waits would look again and again, and each look takes
// the simulation as long as a message.
extern "C" int wait_for_all(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  *done = 1;
  return MPI_Waitall(count, requests, statuses);
}

int main(int count, char** words) { return program_main(count, words); }
