// Threads that exchange bytes through shared memory, in rounds.
#include "dynet_like/distributed/thread_ranks.h"

#include <condition_variable>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/elapsed.h"

namespace dynet_like {

namespace {

using detail::seconds_since;
using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;

/// What a rank sends: something for each rank, or one thing for all. Whoever reads it keeps it
/// alive.
using Sent = std::shared_ptr<const std::vector<Bytes>>;

/// Rounds: all lay out what they send, all take what is for them. A rank may be in the next round
/// while others still take from this one, so there are two tables.
struct Meeting {
  explicit Meeting(unsigned count)
      : tables{std::vector<Sent>(count), std::vector<Sent>(count)}, messages(count) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Sent> tables[2];  ///< by rank; of rounds with even and odd numbers
  unsigned came = 0;
  std::uint64_t round = 0;
  std::vector<std::deque<Communicator::Message>> messages;  ///< to each rank
  std::string failure;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Meeting> meeting, unsigned rank, std::chrono::milliseconds limit)
      : meeting_(std::move(meeting)), rank_(rank), limit_(limit) {}
  ~ThreadRank() override { fail("it has ended"); }

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return static_cast<unsigned>(meeting_->tables[0].size()); }
  std::chrono::duration<double> time_limit() const override { return limit_; }
  std::string name(unsigned rank) const override { return fmt::format("rank {} (thread)", rank); }

  void all_to_all(std::span<const Bytes> to, std::vector<Bytes>& from) override {
    exchange({to.begin(), to.end()}, from);
  }
  void all_gather(std::span<const std::byte> mine, std::vector<Bytes>& all) override {
    exchange({Bytes(mine.begin(), mine.end())}, all);
  }

  void send(unsigned to, Bytes bytes) override {
    const std::lock_guard lock(meeting_->mutex);
    meeting_->messages.at(to).push_back({rank_, std::move(bytes)});
  }
  std::optional<Message> receive() override {
    const std::lock_guard lock(meeting_->mutex);
    std::deque<Message>& mine = meeting_->messages[rank_];
    if (mine.empty() && !meeting_->failure.empty()) throw RankError(meeting_->failure);
    if (mine.empty()) return {};
    Message first = std::move(mine.front());
    mine.pop_front();
    return first;
  }
  bool is_sending() override { return false; }

  void fail(const std::string& why) override {
    const std::lock_guard lock(meeting_->mutex);
    if (meeting_->failure.empty()) {
      meeting_->failure =
          fmt::format("[Communicator] need all ranks; got none of {}: {}", name(rank_), why);
    }
    meeting_->changed.notify_all();
  }

 private:
  void exchange(std::vector<Bytes> to, std::vector<Bytes>& from) {
    const std::vector<Sent> all = meet(std::make_shared<const std::vector<Bytes>>(std::move(to)));
    const Clock::time_point start = Clock::now();
    from.resize(size());
    for (unsigned r = 0; r < size(); ++r) {
      from[r] = all[r]->size() == 1 ? all[r]->front() : (*all[r])[rank_];
    }
    times_.transfer += seconds_since(start);
  }

  std::vector<Sent> meet(Sent mine) {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    if (!m.failure.empty()) throw RankError(m.failure);
    const std::uint64_t round = m.round;
    std::vector<Sent>& table = m.tables[round % 2];
    table[rank_] = std::move(mine);
    if (++m.came == size()) {
      m.came = 0;
      ++m.round;
      m.tables[m.round % 2].assign(size(), nullptr);
      m.changed.notify_all();
    }
    const auto is_over = [&] { return m.round != round || !m.failure.empty(); };
    if (!m.changed.wait_for(lock, limit_, is_over)) {
      const std::string missing = names_of(*this, [&](unsigned r) { return table[r] == nullptr; });
      m.failure = fmt::format("[Communicator] need all ranks within {} ms; got none of {}",
                              limit_.count(), missing);
      m.changed.notify_all();
    }
    times_.waiting += seconds_since(start);
    if (m.round == round) throw RankError(m.failure);
    return table;
  }

  std::shared_ptr<Meeting> meeting_;
  unsigned rank_;
  std::chrono::milliseconds limit_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_ranks(unsigned count,
                                                        std::chrono::milliseconds time_limit) {
  if (count == 0) throw UsageError("[thread_ranks] need 1 rank or more; got 0");
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (unsigned r = 0; r < count; ++r) {
    ranks.push_back(std::make_shared<ThreadRank>(meeting, r, time_limit));
  }
  return ranks;
}

}  // namespace dynet_like
