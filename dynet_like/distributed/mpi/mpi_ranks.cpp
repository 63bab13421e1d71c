// Communicator of MPI: each rank sends to every other, and receives what it finds.
//
// It uses messages, not collective calls, so that it can always say from which ranks nothing has
// come. Open MPI's own non-blocking all-to-all and all-gather send the same messages.
#include "dynet_like/distributed/mpi_ranks.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"

namespace dynet_like {

namespace {

using detail::seconds_since;
using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;
using Seconds = std::chrono::duration<double>;

constexpr int kTag = 1, kMessageTag = 2;
constexpr Seconds kGrace{0.2};  // for a rank that was asked to end
constexpr Seconds kSaving{5};
constexpr Seconds kBusy{0.0005};  // after waiting so long, sleep: others may need the processor
constexpr auto kNap = std::chrono::microseconds(50);

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
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    int rank = 0, size = 0;
    MPI_Comm_rank(world_, &rank);
    MPI_Comm_size(world_, &size);
    rank_ = static_cast<unsigned>(rank);
    size_ = static_cast<unsigned>(size);
    find_names();
  }

  ~MpiRanks() override {
    if (failed_ || !rounds_.empty()) return;  // others may have ended, and MPI would wait for them
    MPI_Comm_free(&world_);
    if (owns_mpi_) MPI_Finalize();
  }

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return size_; }
  Seconds time_limit() const override { return limit_; }
  std::string name(unsigned rank) const override { return names_.at(rank); }

  void begin(Round& round) override {
    if (failed_) throw RankError("[Communicator] need all ranks; got a failure before");
    for (const std::span<const std::byte> bytes : round.to) check_size(bytes.size());
    round.from.resize(size_);
    round.from[rank_].assign(round.to[rank_].begin(), round.to[rank_].end());
    Open& open = rounds_.emplace_back(Open{&round, std::vector<bool>(size_, false), {}});
    open.requests.assign(2 * std::size_t{size_}, MPI_REQUEST_NULL);
    open.has_come[rank_] = true;
    for (unsigned r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      check(MPI_Isend(round.to[r].data(), static_cast<int>(round.to[r].size()), MPI_BYTE,
                      static_cast<int>(r), kTag, world_, &open.requests[size_ + r]),
            "MPI_Isend");
    }
  }

  void end(Round& /*round*/) override {
    if (failed_) throw RankError("[Communicator] need all ranks; got a failure before");
    Clock::time_point start = Clock::now();
    wait([&] { return rounds_.front().all_have_come(); });
    times_.waiting += seconds_since(start);
    start = Clock::now();
    wait([&] { return rounds_.front().is_through(); });
    times_.transfer += seconds_since(start);
    rounds_.pop_front();
  }

  void progress() override {
    find_messages();
    for (Open& open : rounds_) open.is_through();
  }

  void send(unsigned to, Bytes bytes) override {
    if (to == rank_) {
      to_itself_.push_back(std::move(bytes));
      return;
    }
    check_size(bytes.size());
    check_threads();
    Sending& sending = sending_.emplace_back(Sending{std::move(bytes)});
    check(MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE,
                    static_cast<int>(to), kMessageTag, world_, &sending.request),
          "MPI_Isend");
  }

  std::optional<Message> receive() override {
    if (!to_itself_.empty()) {
      Message first = {rank_, std::move(to_itself_.front())};
      to_itself_.pop_front();
      return first;
    }
    int is_there = 0, size = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, kMessageTag, world_, &is_there, &message, &status),
          "MPI_Improbe");
    if (is_there == 0) return {};
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message next = {static_cast<unsigned>(status.MPI_SOURCE),
                    Bytes(static_cast<std::size_t>(size))};
    check(MPI_Mrecv(next.bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    return next;
  }

  bool is_sending() override {
    std::erase_if(sending_, [](Sending& sending) {
      int done = 0;
      check(MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
    return !sending_.empty();
  }

  void fail(const std::string& why) override {
    // Rank 0 may still save, and ends all ranks itself. The others wait, so that a failure that all
    // have noticed is printed once.
    if (rank_ > 0) std::this_thread::sleep_for(failed_ ? kSaving : kGrace);
    std::fprintf(stderr, "%s ends all %u ranks: %s\n", name(rank_).c_str(), size_, why.c_str());
    std::fflush(stderr);
    MPI_Abort(world_, 1);
  }

  void give_up_when(std::function<bool()> asks) override { asks_ = std::move(asks); }

 private:
  struct Sending {
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  /// An open round.
  struct Open {
    Round* round;
    std::vector<bool> has_come;         ///< by rank: whether it has begun to send
    std::vector<MPI_Request> requests;  ///< receives from each rank, then sends to it

    bool all_have_come() const {
      return std::find(has_come.begin(), has_come.end(), false) == has_come.end();
    }
    bool is_through() {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE),
            "MPI_Testall");
      return done != 0;
    }
  };

  static void check_threads() {
    int level = 0;
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED) return;
    throw UsageError(
        "[Communicator] need MPI_THREAD_SERIALIZED for messages; got an MPI that was started, or "
        "built, for one thread");
  }

  static void check_size(std::uint64_t size) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    if (size <= kMost) return;
    throw UsageError(fmt::format(
        "[Communicator] need at most {} bytes from a rank to another; got {}", kMost, size));
  }

  // Begins to receive what others have begun to send; the message tells its length. Messages of a
  // rank come in the order of rounds.
  void find_messages() {
    for (unsigned r = 0; r < size_; ++r) {
      for (Open& open : rounds_) {
        if (open.has_come[r]) continue;
        int is_there = 0, size = 0;
        MPI_Message message;
        MPI_Status status;
        check(MPI_Improbe(static_cast<int>(r), kTag, world_, &is_there, &message, &status),
              "MPI_Improbe");
        if (is_there == 0) break;
        MPI_Get_count(&status, MPI_BYTE, &size);
        Bytes& from = open.round->from[r];
        from.resize(static_cast<std::size_t>(size));
        check(MPI_Imrecv(from.data(), size, MPI_BYTE, &message, &open.requests[r]), "MPI_Imrecv");
        open.has_come[r] = true;
      }
    }
  }

  template <class Done>
  void wait(const Done& is_done) {
    const Clock::time_point start = Clock::now();
    std::optional<Clock::time_point> asked;
    while (find_messages(), !is_done()) {
      const double waited = seconds_since(start);
      if (asks_ && !asked && asks_()) asked = Clock::now();
      const bool gives_up = asked && seconds_since(*asked) > kGrace.count();
      if (gives_up || waited > limit_.count()) {
        failed_ = true;
        throw RankError(fmt::format(
            "[Communicator] need all ranks within {:.4g} s; got none of {} after {:.1f} s{}",
            limit_.count(), missing(), waited, gives_up ? ", and was asked to end" : ""));
      }
      // Bytes are transferred only during these calls.
      if (!rounds_.front().all_have_come() && waited > kBusy.count()) {
        std::this_thread::sleep_for(kNap);
      } else {
        std::this_thread::yield();
      }
    }
  }

  // The ranks that have not sent, or not received.
  std::string missing() {
    Open& open = rounds_.front();
    return names_of(*this, [&](unsigned r) {
      int has_sent = 0, has_received = 0;
      MPI_Test(&open.requests[r], &has_sent, MPI_STATUS_IGNORE);
      MPI_Test(&open.requests[size_ + r], &has_received, MPI_STATUS_IGNORE);
      return !open.has_come[r] || has_sent == 0 || has_received == 0;
    });
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
  // MPI may still access these after a call has failed.
  std::list<Open> rounds_;
  std::list<Sending> sending_;
  std::deque<Bytes> to_itself_;
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
  // Set by Open MPI, by MPICH and its relatives, and by Slurm's PMIx and PMI2.
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
