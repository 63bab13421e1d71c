// Ranks as threads, which exchange bytes through shared memory, in rounds.
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

/// The shared memory through which ranks exchange bytes.
struct Meeting {
  explicit Meeting(unsigned count) : sent(count), messages(count) {
    for (auto& from : sent) from.resize(count);
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<std::deque<Bytes>>> sent;         ///< by sender and receiver
  std::vector<std::deque<Communicator::Message>> messages;  ///< to each rank
  std::string failure;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Meeting> meeting, unsigned rank, std::chrono::milliseconds limit)
      : meeting_(std::move(meeting)), rank_(rank), limit_(limit) {}
  ~ThreadRank() override { fail("it has ended"); }

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return static_cast<unsigned>(meeting_->messages.size()); }
  std::chrono::duration<double> time_limit() const override { return limit_; }
  std::string name(unsigned rank) const override { return fmt::format("rank {} (thread)", rank); }

  void begin(Round& round) override {
    const std::lock_guard lock(meeting_->mutex);
    if (!meeting_->failure.empty()) throw RankError(meeting_->failure);
    for (unsigned r = 0; r < size(); ++r) {
      meeting_->sent[rank_][r].emplace_back(round.to[r].begin(), round.to[r].end());
    }
    meeting_->changed.notify_all();
  }

  void end(Round& round) override {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(meeting_->mutex);
    Meeting& m = *meeting_;
    const auto has_come = [&](unsigned r) { return !m.sent[r][rank_].empty(); };
    const auto all_have_come = [&] {
      bool all = true;
      for (unsigned r = 0; r < size(); ++r) all &= has_come(r);
      return all;
    };
    if (!m.changed.wait_for(lock, limit_, [&] { return all_have_come() || !m.failure.empty(); })) {
      const std::string missing = names_of(*this, [&](unsigned r) { return !has_come(r); });
      m.failure = fmt::format("[Communicator] need all ranks within {} ms; got none of {}",
                              limit_.count(), missing);
      m.changed.notify_all();
    }
    times_.waiting += seconds_since(start);
    if (!all_have_come()) throw RankError(m.failure);
    round.from.resize(size());
    for (unsigned r = 0; r < size(); ++r) {
      round.from[r] = std::move(m.sent[r][rank_].front());
      m.sent[r][rank_].pop_front();
    }
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
