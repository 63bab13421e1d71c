// What a server does with messages, and how rank 0 hands out minibatches.
#include "dynet_like/distributed/server_thread.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/distributed/elapsed.h"

namespace dynet_like::detail {

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;

constexpr auto kNap = std::chrono::microseconds(50);  // sleep of an idle thread
constexpr std::chrono::duration<double> kParting{1};  // for last messages after a failure

}  // namespace

Bytes MessageHeader::with(std::span<const std::byte> payload) const {
  Bytes bytes;
  bytes.reserve(sizeof(*this) + payload.size());
  append_bytes(bytes, this, sizeof(*this));
  append_bytes(bytes, payload.data(), payload.size());
  return bytes;
}

std::span<const std::byte> MessageHeader::read(const Bytes& bytes, MessageHeader& header) {
  if (bytes.size() < sizeof(header)) {
    throw RankError(fmt::format("[ParameterServer] need a message of {} or more; got {}",
                                counted(sizeof(header), "byte"), bytes.size()));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  return std::span(bytes).subspan(sizeof(header));
}

// Hands out minibatches, and sums the results.
class ServerThread::Coordinator {
 public:
  Coordinator(Turns turns, unsigned ranks) : turns_(std::move(turns)), workers_(ranks) {}

  void ask(unsigned rank, bool stops) {
    workers_[rank].state = Worker::asks;
    if (!stops) return;
    turns_.stop();
    sums_.flag = 1;
  }
  bool counts(unsigned rank) { return turns_.counts(rank); }
  void done(unsigned rank, const MessageHeader& done) {
    turns_.done(rank);
    sums_.loss += done.loss;
    sums_.losses += done.losses;
    sums_.skipped += done.skipped;
    sums_.without_loss += done.without_loss;
  }

  // Gives a turn to each rank that waits for one and can have it: answer(rank, header).
  template <class Answer>
  void settle(const Answer& answer) {
    for (unsigned rank = 0; rank < workers_.size(); ++rank) {
      if (workers_[rank].state != Worker::asks || turns_.turn_of(rank)) continue;
      const std::optional<Turns::Turn> turn = turns_.give(rank);
      if (!turn && !turns_.is_over()) continue;
      workers_[rank] = {turn ? Worker::works : Worker::has_ended};
      answer(rank, turn ? header_of(*turn) : MessageHeader{.kind = MessageKind::none});
    }
  }

  bool is_over() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.state == Worker::has_ended; });
  }
  MessageHeader sums() const {
    MessageHeader over = sums_;
    over.kind = MessageKind::over;
    over.minibatch = turns_.next();
    over.dropped = turns_.dropped();
    return over;
  }

  // A rank that has worked on its minibatch for too long.
  std::optional<unsigned> late_rank(double limit) const {
    for (unsigned rank = 0; rank < workers_.size(); ++rank) {
      const auto& [state, since] = workers_[rank];
      if (state == Worker::works && seconds_since(since) > limit) return rank;
    }
    return {};
  }

 private:
  struct Worker {
    enum { works, asks, has_ended } state = works;
    Clock::time_point since = Clock::now();
  };

  static MessageHeader header_of(const Turns::Turn& turn) {
    return {.kind = MessageKind::turn,
            .needed = turn.needed,
            .minibatch = turn.minibatch,
            .round = turn.round};
  }

  Turns turns_;
  std::vector<Worker> workers_;  ///< by rank
  MessageHeader sums_;
};

ServerThread::ServerThread(std::shared_ptr<Communicator> ranks, Trainer& trainer,
                           const Storages& share, Relaxation relaxation, std::size_t first,
                           std::size_t end, std::uint64_t session)
    : ranks_(std::move(ranks)), session_(session), served_(trainer, share) {
  Turns turns(first, end, relaxation, ranks_->size());
  if (ranks_->rank() == 0) {
    coordinator_ = std::make_unique<Coordinator>(std::move(turns), ranks_->size());
  }
  thread_ = std::thread([this] { serve(); });
}

ServerThread::~ServerThread() {
  {
    const std::lock_guard lock(mutex_);
    leaves_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

// Called by the worker.

Bytes ServerThread::message(MessageHeader header, std::span<const std::byte> payload) const {
  header.session = session_;
  return header.with(payload);
}

void ServerThread::post(unsigned to, const MessageHeader& header,
                        std::span<const std::byte> payload) {
  Bytes bytes = message(header, payload);
  const std::lock_guard lock(mutex_);
  posted_.emplace_back(to, std::move(bytes));
}

template <class Ready>
void ServerThread::wait_until(std::unique_lock<std::mutex>& lock, double limit,
                              const Awaited& awaited, const Ready& ready) {
  const bool in_time = changed_.wait_for(lock, limit * ranks_->time_limit(),
                                         [&] { return failure_ != nullptr || ready(); });
  if (failure_) std::rethrow_exception(failure_);
  if (in_time) return;
  throw RankError(fmt::format("[ParameterServer] need {} within {:.4g} s; got none", awaited(),
                              limit * ranks_->time_limit().count()));
}

Communicator::Message ServerThread::answer(double limit, const Awaited& awaited) {
  std::unique_lock lock(mutex_);
  wait_until(lock, limit, awaited, [&] { return !answers_.empty(); });
  Communicator::Message first = std::move(answers_.front());
  answers_.pop_front();
  return first;
}

void ServerThread::expect_acknowledgements(const MessageHeader& done) {
  const std::lock_guard lock(mutex_);
  not_acknowledged_ = ranks_->size();
  done_ = message(done);
}

MessageHeader ServerThread::join(double limit, const Awaited& awaited) {
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, limit, awaited, [&] { return over_.has_value(); });
  }
  thread_.join();
  return *over_;
}

// Called by the thread.

void ServerThread::serve() {
  try {
    serve_until_over();
  } catch (...) {
    fail(std::current_exception());
  }
}

void ServerThread::serve_until_over() {
  const auto ends = [&] {
    const std::lock_guard lock(mutex_);
    if (leaves_ && !over_) {
      throw RankError(fmt::format("[ParameterServer] need all ranks to the end; got none of {}",
                                  ranks_->name(ranks_->rank())));
    }
    return over_ && posted_.empty();
  };
  while (!ends() || ranks_->is_sending()) {
    bool is_busy = send_posted();
    while (std::optional<Communicator::Message> message = ranks_->receive()) {
      handle(std::move(*message));
      is_busy = true;
    }
    if (is_busy || ranks_->is_sending()) continue;
    if (coordinator_ != nullptr) check_on_time();
    std::this_thread::sleep_for(kNap);
  }
}

void ServerThread::check_on_time() const {
  const double limit = ranks_->time_limit().count();
  const std::optional<unsigned> late = coordinator_->late_rank(limit);
  if (!late) return;
  throw RankError(
      fmt::format("[ParameterServer] need each rank to ask for a minibatch within {:.4g} s; got "
                  "nothing from {}",
                  limit, ranks_->name(*late)));
}

bool ServerThread::send_posted() {
  std::deque<std::pair<unsigned, Bytes>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& [to, bytes] : posted) ranks_->send(to, std::move(bytes));
  return !posted.empty();
}

void ServerThread::handle(Communicator::Message received) {
  MessageHeader header;
  const std::span<const std::byte> payload = MessageHeader::read(received.bytes, header);
  if (header.session != session_) return;
  const unsigned from = received.from;
  const auto answer = [&](unsigned rank, const MessageHeader& to) {
    ranks_->send(rank, message(to));
  };
  switch (header.kind) {
    case MessageKind::ask:
      coordinator_->ask(from, header.flag != 0);
      break;
    case MessageKind::ready:
      answer(from, {.kind = MessageKind::counts, .flag = coordinator_->counts(from) ? 1u : 0u});
      break;
    case MessageKind::done:
      coordinator_->done(from, header);
      break;
    case MessageKind::pull: {
      Bytes values;
      served_.append_values(values, header.version);
      ranks_->send(from,
                   message({.kind = MessageKind::values, .version = served_.version()}, values));
      return;
    }
    case MessageKind::push:
      keep_push(from, header, payload);
      return;
    case MessageKind::pushed:
      acknowledged();
      return;
    case MessageKind::over: {
      const std::lock_guard lock(mutex_);
      over_ = header;
      changed_.notify_all();
      return;
    }
    case MessageKind::failed:
      throw RankError(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
    default: {
      const std::lock_guard lock(mutex_);
      answers_.push_back(std::move(received));
      changed_.notify_all();
      return;
    }
  }
  coordinator_->settle(answer);
  if (!coordinator_->is_over()) return;
  for (unsigned rank = 0; rank < ranks_->size(); ++rank) answer(rank, coordinator_->sums());
}

void ServerThread::keep_push(unsigned from, const MessageHeader& header,
                             std::span<const std::byte> gradients) {
  if (header.flag == 0) {
    served_.add(gradients, header.minibatch, header.version);
    if (header.has_rate != 0) served_.set_learning_rate(header.learning_rate);
  }
  pushed_.push_back(from);
  if (pushed_.size() < header.needed) return;
  served_.update();
  for (const unsigned rank : pushed_) ranks_->send(rank, message({.kind = MessageKind::pushed}));
  pushed_.clear();
}

void ServerThread::acknowledged() {
  const std::lock_guard lock(mutex_);
  if (--not_acknowledged_ == 0) posted_.emplace_back(0, std::move(done_));
}

// Throws the failure to this rank's worker and, by messages, to all others.
void ServerThread::fail(std::exception_ptr failure) {
  std::string why;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    why = error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    changed_.notify_all();
  }
  try {
    const Bytes bytes = message({.kind = MessageKind::failed}, std::as_bytes(std::span(why)));
    for (unsigned rank = 0; rank < ranks_->size(); ++rank) {
      if (rank != ranks_->rank()) ranks_->send(rank, bytes);
    }
    const Clock::time_point start = Clock::now();
    while (ranks_->is_sending() && seconds_since(start) < kParting.count()) {
      std::this_thread::sleep_for(kNap);
    }
  } catch (const std::exception&) {
    // no other rank is left to be told
  }
}

}  // namespace dynet_like::detail
