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

// SimGrid has no MPI_Improbe. Messages between two ranks keep their order, so that the next one of
// the same rank is the one that was found.
static MPI_Status found;
static MPI_Comm found_in;

extern "C" int wait_for_message(int source, int tag, MPI_Comm ranks, int* is_there,
                                MPI_Message* /*message*/, MPI_Status* status) {
  const int result = MPI_Probe(source, tag, ranks, &found);
  *is_there = 1;
  found_in = ranks;
  *status = found;
  return result;
}

extern "C" int receive_found(void* to, int count, MPI_Datatype type, MPI_Message* /*message*/,
                             MPI_Request* request) {
  return MPI_Irecv(to, count, type, found.MPI_SOURCE, found.MPI_TAG, found_in, request);
}

int main(int count, char** words) { return program_main(count, words); }
