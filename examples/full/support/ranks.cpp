// Ranks of MPI, if the program was built with it.
#include "examples/full/support/ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "dynet_like/core/errors.h"
#ifdef DYNET_LIKE_HAS_MPI
#include "dynet_like/distributed/mpi_ranks.h"
#endif

namespace dynet_like::examples {

std::shared_ptr<Communicator> started_ranks() {
#ifdef DYNET_LIKE_HAS_MPI
  return is_started_by_mpi() ? mpi_ranks() : nullptr;
#else
  const char* const count = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (count == nullptr || std::string(count) == "1") return nullptr;
  throw UsageError(
      "need a program that was built with MPI (scripts/install_deps.sh --mpi) to train "
      "in several processes; got " +
      std::string(count) + " of them");
#endif
}

unsigned ranks_here(Communicator& ranks) {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  const auto all = gather_texts(ranks, host.data());
  return static_cast<unsigned>(std::count(all.begin(), all.end(), all[ranks.rank()]));
}

void silence_output() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

}  // namespace dynet_like::examples
