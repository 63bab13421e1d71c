// Communicator of MPI: short messages say who has come, collectives carry the bytes.
#include "dynet_like/distributed/mpi_ranks.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;
using Seconds = std::chrono::duration<double>;

constexpr int kTag = 1, kRollCall = 2;
constexpr Seconds kGrace{0.2};  // of who was asked to end
constexpr Seconds kSaving{5};
constexpr Seconds kBusy{0.0005};  // so long a wait costs a processor: then others may need it
constexpr auto kNap = std::chrono::microseconds(50);

double seconds_since(Clock::time_point start) { return Seconds(Clock::now() - start).count(); }

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw RankError(fmt::format("[Communicator] need {} to work; got: {}", what,
                              std::string(text, static_cast<std::size_t>(length))));
}

class MpiRanks final : public Communicator {
 public:
  explicit MpiRanks(Seconds limit) : limit_(limit) {
    int is_there = 0, level = 0;
    MPI_Initialized(&is_there);
    owns_mpi_ = is_there == 0;
    if (owns_mpi_)
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    int rank = 0, size = 0;
    MPI_Comm_rank(world_, &rank);
    MPI_Comm_size(world_, &size);
    rank_ = static_cast<unsigned>(rank);
    size_ = static_cast<unsigned>(size);
    sizes_.resize(size_);
    coming_.resize(size_);
    find_names();
  }

  ~MpiRanks() override {
    if (failed_) return;  // others may be gone, and MPI would wait for them
    MPI_Comm_free(&world_);
    if (owns_mpi_) MPI_Finalize();
  }

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return size_; }
  std::string name(unsigned rank) const override { return names_.at(rank); }

  void all_to_all(std::span<const Bytes> to, std::vector<Bytes>& from) override {
    for (unsigned r = 0; r < size_; ++r) sizes_[r] = to[r].size();
    const Layout out = lay_out(sizes_);
    meet();
    const Clock::time_point start = Clock::now();
    const Layout in = lay_out(coming_);
    out_.resize(out.total);
    for (unsigned r = 0; r < size_; ++r)
      std::copy(to[r].begin(), to[r].end(), out_.data() + out.at[r]);
    in_.resize(in.total);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ialltoallv(out_.data(), out.counts.data(), out.at.data(), MPI_BYTE, in_.data(),
                         in.counts.data(), in.at.data(), MPI_BYTE, world_, &request),
          "MPI_Ialltoallv");
    finish(request);
    take_apart(in, from);
    times_.transfer += seconds_since(start);
  }

  void all_gather(std::span<const std::byte> mine, std::vector<Bytes>& all) override {
    sizes_.assign(size_, mine.size());
    meet();
    const Clock::time_point start = Clock::now();
    const Layout in = lay_out(coming_);
    out_.assign(mine.begin(), mine.end());
    in_.resize(in.total);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgatherv(out_.data(), static_cast<int>(out_.size()), MPI_BYTE, in_.data(),
                          in.counts.data(), in.at.data(), MPI_BYTE, world_, &request),
          "MPI_Iallgatherv");
    finish(request);
    take_apart(in, all);
    times_.transfer += seconds_since(start);
  }

  void fail(const std::string& why) override {
    // Rank 0 saves, and ends all itself; and what all have found out is said once.
    if (rank_ > 0) std::this_thread::sleep_for(failed_ ? kSaving : kGrace);
    std::fprintf(stderr, "%s ends all %u ranks: %s\n", name(rank_).c_str(), size_, why.c_str());
    std::fflush(stderr);
    MPI_Abort(world_, 1);
  }

  void give_up_when(std::function<bool()> asks) override { asks_ = std::move(asks); }

 private:
  /// Where the bytes of each rank lie.
  struct Layout {
    std::vector<int> counts, at;
    std::size_t total = 0;
  };

  Layout lay_out(std::span<const std::uint64_t> sizes) const {
    Layout layout;
    for (const std::uint64_t size : sizes) {
      layout.counts.push_back(static_cast<int>(size));
      layout.at.push_back(static_cast<int>(layout.total));
      layout.total += size;
      if (layout.total <= std::numeric_limits<int>::max()) continue;
      throw UsageError(fmt::format("[Communicator] need at most {} bytes in a call; got {} or more",
                                   std::numeric_limits<int>::max(), layout.total));
    }
    return layout;
  }

  void take_apart(const Layout& in, std::vector<Bytes>& from) const {
    from.resize(size_);
    for (unsigned r = 0; r < size_; ++r) {
      const std::byte* const first = in_.data() + in.at[r];
      from[r].assign(first, first + in.counts[r]);
    }
  }

  // The size of what comes, to each rank and from each: so it is known who has not come.
  void meet() {
    if (failed_) throw RankError("[Communicator] need all ranks; got a failure before");
    const Clock::time_point start = Clock::now();
    std::vector<MPI_Request> requests(2 * size_, MPI_REQUEST_NULL);
    for (unsigned r = 0; r < size_; ++r) {
      const int other = static_cast<int>(r);
      check(MPI_Irecv(&coming_[r], 1, MPI_UINT64_T, other, kTag, world_, &requests[r]),
            "MPI_Irecv");
      check(MPI_Isend(&sizes_[r], 1, MPI_UINT64_T, other, kTag, world_, &requests[size_ + r]),
            "MPI_Isend");
    }
    wait(requests, true);
    times_.waiting += seconds_since(start);
  }

  void finish(MPI_Request request) {
    std::vector<MPI_Request> requests = {request};
    wait(requests, false);
  }

  void wait(std::vector<MPI_Request>& requests, bool is_meeting) {
    const Clock::time_point start = Clock::now();
    std::optional<Clock::time_point> asked;
    for (int done = 0;;) {
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE),
            "MPI_Testall");
      if (done != 0) return;
      const double waited = seconds_since(start);
      if (asks_ && !asked && asks_()) asked = Clock::now();
      const bool gives_up = asked && seconds_since(*asked) > kGrace.count();
      if (gives_up || waited > limit_.count()) {
        failed_ = true;
        throw RankError(fmt::format(
            "[Communicator] need all ranks within {:.4g} s; got none of {} after {:.1f} s{}",
            limit_.count(), is_meeting ? missing(requests) : roll_call(), waited,
            gives_up ? ", and was asked to end" : ""));
      }
      // Bytes move in these calls alone.
      if (is_meeting && waited > kBusy.count()) {
        std::this_thread::sleep_for(kNap);
      } else {
        std::this_thread::yield();
      }
    }
  }

  // Those that wait in the same transfer find out at about the same time, and say so.
  std::string roll_call() {
    std::vector<MPI_Request> requests(size_, MPI_REQUEST_NULL);
    for (unsigned r = 0; r < size_; ++r) {
      const int other = static_cast<int>(r);
      MPI_Request sent = MPI_REQUEST_NULL;
      MPI_Irecv(&coming_[r], 1, MPI_UINT64_T, other, kRollCall, world_, &requests[r]);
      MPI_Isend(&sizes_[r], 1, MPI_UINT64_T, other, kRollCall, world_, &sent);
    }
    const Clock::time_point start = Clock::now();
    for (int done = 0; done == 0 && seconds_since(start) < kGrace.count();) {
      MPI_Testall(static_cast<int>(size_), requests.data(), &done, MPI_STATUSES_IGNORE);
      std::this_thread::yield();
    }
    const std::string text = missing(requests);
    return text.empty() ? "the bytes of a rank that is slow" : text;
  }

  // Those from which nothing has come; the first requests are for that, by rank.
  std::string missing(std::span<MPI_Request> requests) const {
    std::string text;
    for (unsigned r = 0; r < size_; ++r) {
      int has_come = 0;
      MPI_Test(&requests[r], &has_come, MPI_STATUS_IGNORE);
      if (has_come == 0) text += (text.empty() ? "" : ", ") + name(r);
    }
    return text;
  }

  void find_names() {
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(host, &length);
    names_.assign(size_, "");
    for (unsigned r = 0; r < size_; ++r) names_[r] = fmt::format("rank {}", r);
    const std::string mine = fmt::format("rank {} (process {} on {})", rank_, ::getpid(), host);
    names_ = gather_texts(*this, mine);
  }

  Seconds limit_;
  bool owns_mpi_ = false, failed_ = false;
  MPI_Comm world_ = MPI_COMM_NULL;
  unsigned rank_ = 0, size_ = 1;
  std::vector<std::string> names_;
  std::function<bool()> asks_;
  // MPI may still look at these after a call has failed.
  std::vector<std::uint64_t> sizes_, coming_;
  Bytes out_, in_;
};

}  // namespace

std::chrono::duration<double> rank_time_limit() {
  const char* const text = std::getenv("DYNET_LIKE_RANK_TIME_LIMIT");
  if (text == nullptr) return std::chrono::minutes(10);
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end != text && *end == '\0' && seconds > 0 && seconds < 1e9) return Seconds(seconds);
  throw UsageError(
      fmt::format("need seconds above 0 in DYNET_LIKE_RANK_TIME_LIMIT; got \"{}\"", text));
}

bool is_started_by_mpi() {
  // Open MPI, MPICH and its relatives, and Slurm's PMIx and PMI2.
  for (const char* const name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

std::shared_ptr<Communicator> mpi_ranks(std::chrono::duration<double> time_limit) {
  return std::make_shared<MpiRanks>(time_limit);
}

}  // namespace dynet_like
