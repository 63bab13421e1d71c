// Turns an example into a program of SimGrid's MPI. Its clock is the simulated one, so that it
// prints times of the simulated machines. bench/scaling.py compiles it.
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

#include <chrono>

/// The main function of the example.
int program_main(int count, char** words);

// All ranks are one process: a rank that silences its output would silence all.
extern "C" int dup2(int /*from*/, int to) { return to; }

std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  const double seconds = sg_actor_self() != nullptr ? MPI_Wtime() : simgrid_get_clock();
  return time_point(duration_cast<duration>(std::chrono::duration<double>(seconds)));
}

// Replaces MPI_Testall: a waiting rank would call it again and again, and each call takes the
// simulation as long as a message.
extern "C" int wait_for_all(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  *done = 1;
  return MPI_Waitall(count, requests, statuses);
}

// SimGrid has no MPI_Improbe. Messages between two ranks keep their order, so the next message of
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
