// The worker, the server's thread, and on rank 0 who gives out minibatches.
#include "dynet_like/distributed/parameter_server.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "dynet_like/distributed/elapsed.h"

namespace dynet_like {

using namespace detail;

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;

constexpr auto kNap = std::chrono::microseconds(50);  // of a thread that has nothing to do
// Rank 0 knows best whom all wait for, and says so first.
constexpr double kPatience = 2;
constexpr std::chrono::duration<double> kParting{1};  // for the last words of one that fails

enum class Kind : std::uint32_t {
  ask,     // worker to rank 0: may I have a minibatch? flag: it was asked to stop
  turn,    // rank 0's answer: `minibatch`, `round`, `needed`
  none,    // the same: there is no more
  pull,    // worker to a server: values, of tables those that are newer than `version`
  values,  // its answer: those of `version`
  ready,   // worker to rank 0, in rounds: does my gradient count?
  counts,  // rank 0's answer: flag
  push,    // worker to a server: the gradients of `minibatch`; flag: there are none
  pushed,  // its answer: the parameters have them
  done,    // worker to rank 0: all servers have said so; with the loss. flag: there were none
  over,    // rank 0 to all: nobody trains any more; with the sums over all minibatches
  failed,  // anyone to all: why
};

}  // namespace

// The beginning of every message; what a kind has no use for is 0.
struct ParameterServer::Header {
  Kind kind = Kind::ask;
  std::uint32_t flag = 0, needed = 0;
  float learning_rate = 0;
  std::uint32_t has_rate = 0;
  std::uint64_t minibatch = 0, round = 0, version = 0, losses = 0;
  std::uint64_t skipped = 0, dropped = 0;
  std::uint64_t session = 0;
  double loss = 0;

  Bytes with(std::span<const std::byte> payload) const {
    Bytes bytes;
    bytes.reserve(sizeof(*this) + payload.size());
    append_bytes(bytes, this, sizeof(*this));
    append_bytes(bytes, payload.data(), payload.size());
    return bytes;
  }

  // What stands behind it.
  static std::span<const std::byte> read(const Bytes& bytes, Header& header) {
    if (bytes.size() < sizeof(header)) {
      throw RankError(fmt::format("[ParameterServer] need a message of {} or more; got {}",
                                  counted(sizeof(header), "byte"), bytes.size()));
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    return std::span(bytes).subspan(sizeof(header));
  }
};

// Gives out minibatches, and sums what came of them.
class ParameterServer::Coordinator {
 public:
  Coordinator(Turns turns, unsigned ranks) : turns_(std::move(turns)), workers_(ranks) {}

  void ask(unsigned rank, bool stops) {
    workers_[rank].state = Worker::asks;
    if (!stops) return;
    turns_.stop();
    sums_.flag = 1;
  }
  bool counts(unsigned rank) { return turns_.counts(rank); }
  void done(unsigned rank, const Header& done) {
    turns_.done(rank);
    sums_.loss += done.loss;
    sums_.losses += done.losses;
    sums_.skipped += done.flag;
  }

  // Answers those who can have one: answer(rank, header).
  template <class Answer>
  void settle(const Answer& answer) {
    for (unsigned rank = 0; rank < workers_.size(); ++rank) {
      if (workers_[rank].state != Worker::asks || turns_.turn_of(rank)) continue;
      const std::optional<Turns::Turn> turn = turns_.give(rank);
      if (!turn && !turns_.is_over()) continue;
      workers_[rank] = {turn ? Worker::works : Worker::has_ended};
      answer(rank, turn ? header_of(*turn) : Header{.kind = Kind::none});
    }
  }

  bool is_over() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.state == Worker::has_ended; });
  }
  Header sums() const {
    Header over = sums_;
    over.kind = Kind::over;
    over.minibatch = turns_.next();
    over.dropped = turns_.dropped();
    return over;
  }

  // One that others wait for.
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

  static Header header_of(const Turns::Turn& turn) {
    return {.kind = Kind::turn,
            .needed = turn.needed,
            .minibatch = turn.minibatch,
            .round = turn.round};
  }

  Turns turns_;
  std::vector<Worker> workers_;  ///< by rank
  Header sums_;
};

ParameterServer::ParameterServer(std::shared_ptr<Communicator> ranks, Trainer& trainer,
                                 Relaxation relaxation, std::size_t first, std::size_t end)
    : ranks_(std::move(ranks)),
      trainer_(trainer),
      first_(first),
      next_(first),
      session_(begin_session(*ranks_, trainer, relaxation, first, end)),
      shares_(shares_of(trainer.parameters(), ranks_->size())),
      versions_(ranks_->size(), 0),
      served_(trainer, shares_[ranks_->rank()]) {
  Turns turns(first, end, relaxation, ranks_->size());
  if (ranks_->rank() == 0) {
    coordinator_ = std::make_unique<Coordinator>(std::move(turns), ranks_->size());
  }
  thread_ = std::thread([this] { serve(); });
}

// Ranks that differ would serve each other other values. Messages of an earlier server of theirs,
// one that failed, may be on their way: the number that is returned tells them apart.
std::uint64_t ParameterServer::begin_session(Communicator& ranks, Trainer& trainer,
                                             const Relaxation& relaxation, std::size_t first,
                                             std::size_t end) {
  auto session = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  if (ranks.size() == 1) return session;
  const std::map<std::string, std::string> mine = {
      {"minibatches", fmt::format("{} to {}", first, end)},
      {"staleness", fmt::to_string(relaxation.staleness)},
      {"backup ranks", fmt::to_string(relaxation.backup_ranks)}};
  check_alike(ranks, "[ParameterServer] need the same trainer, parameters and arguments", mine,
              trainer, trainer.parameters());
  Bytes bytes;
  append_bytes(bytes, &session, sizeof(session));
  broadcast(ranks, bytes);
  std::memcpy(&session, bytes.data(), sizeof(session));
  return session;
}

ParameterServer::~ParameterServer() {
  {
    const std::lock_guard lock(mutex_);
    leaves_ = !is_finished_;
  }
  if (thread_.joinable()) thread_.join();
}

// The worker.

Bytes ParameterServer::message(Header header, std::span<const std::byte> payload) const {
  header.session = session_;
  return header.with(payload);
}

void ParameterServer::post(unsigned to, const Header& header, std::span<const std::byte> payload) {
  Bytes bytes = message(header, payload);
  const std::lock_guard lock(mutex_);
  posted_.emplace_back(to, std::move(bytes));
}

template <class Ready>
void ParameterServer::wait_until(std::unique_lock<std::mutex>& lock, double limit,
                                 const Awaited& awaited, const Ready& ready) {
  const Clock::time_point start = Clock::now();
  const bool in_time = changed_.wait_for(lock, limit * ranks_->time_limit(),
                                         [&] { return failure_ != nullptr || ready(); });
  waiting_ += seconds_since(start);
  if (failure_) std::rethrow_exception(failure_);
  if (in_time) return;
  throw RankError(fmt::format("[ParameterServer] need {} within {:.4g} s; got none", awaited(),
                              limit * ranks_->time_limit().count()));
}

Communicator::Message ParameterServer::answer(double limit, const Awaited& awaited) {
  std::unique_lock lock(mutex_);
  wait_until(lock, limit, awaited, [&] { return !answers_.empty(); });
  Communicator::Message first = std::move(answers_.front());
  answers_.pop_front();
  return first;
}

std::optional<std::size_t> ParameterServer::next(bool stops) {
  if (wants_gradient_) skip();
  post(0, {.kind = Kind::ask, .flag = stops ? 1u : 0u});
  const Communicator::Message message =
      answer(kPatience, [&] { return "a turn from " + ranks_->name(0); });
  Header header;
  Header::read(message.bytes, header);
  turn_.reset();
  if (header.kind == Kind::none) return {};
  turn_ = {static_cast<std::size_t>(header.minibatch), header.round, header.needed};
  next_ = turn_->minibatch + 1;
  wants_gradient_ = true;
  pull();
  return turn_->minibatch;
}

void ParameterServer::pull() {
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    post(server, {.kind = Kind::pull, .version = versions_[server]});
  }
  std::vector<bool> has_come(ranks_->size(), false);
  for (unsigned i = 0; i < ranks_->size(); ++i) {
    const Communicator::Message message = answer(1, [&] {
      return "values from " + names_of(*ranks_, [&](unsigned r) { return !has_come[r]; });
    });
    Header header;
    read_values(Header::read(message.bytes, header), shares_[message.from]);
    versions_[message.from] = header.version;
    has_come[message.from] = true;
  }
}

void ParameterServer::push(const Gradients& gradients, std::optional<float> learning_rate,
                           double loss, std::uint64_t losses) {
  if (!wants_gradient_) {
    throw UsageError("[ParameterServer] need one push for each minibatch; got another one");
  }
  wants_gradient_ = false;
  if (!gradient_counts()) return;
  expect_acknowledgements({.kind = Kind::done, .losses = losses, .loss = loss});
  const Header header = {.kind = Kind::push,
                         .needed = turn_->needed,
                         .learning_rate = learning_rate.value_or(0),
                         .has_rate = learning_rate.has_value(),
                         .minibatch = turn_->minibatch};
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    Bytes payload;
    append_gradients(payload, gradients, shares_[server]);
    Header to_server = header;
    to_server.version = versions_[server];
    post(server, to_server, payload);
  }
}

void ParameterServer::skip() {
  wants_gradient_ = false;
  if (!gradient_counts()) return;
  expect_acknowledgements({.kind = Kind::done, .flag = 1});
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    post(server, {.kind = Kind::push, .flag = 1, .needed = turn_->needed});
  }
}

// Of all servers; then rank 0 is told that it is done.
void ParameterServer::expect_acknowledgements(const Header& done) {
  const std::lock_guard lock(mutex_);
  not_acknowledged_ = ranks_->size();
  done_ = message(done);
}

bool ParameterServer::gradient_counts() {
  if (turn_->round == 0) return true;
  post(0, {.kind = Kind::ready});
  const Communicator::Message message =
      answer(1, [&] { return "an answer from " + ranks_->name(0); });
  Header header;
  Header::read(message.bytes, header);
  return header.flag != 0;
}

ParameterServer::Report ParameterServer::finish() {
  {
    std::unique_lock lock(mutex_);
    const auto awaited = [] { return std::string("the end of all minibatches"); };
    wait_until(lock, kPatience, awaited, [&] { return is_over_; });
  }
  thread_.join();
  std::vector<Bytes> all;
  ranks_->all_gather(served_.state(), all);
  load_states(trainer_, all, shares_);
  const std::uint64_t mine[] = {served_.most_staleness(), served_.total_staleness(),
                                served_.version()};
  ranks_->all_gather(std::as_bytes(std::span(mine)), all);
  double total = 0, updates = 0;
  for (const Bytes& bytes : all) {
    std::uint64_t one[3];
    std::memcpy(one, bytes.data(), sizeof(one));
    report_.most_staleness = std::max(report_.most_staleness, one[0]);
    total += static_cast<double>(one[1]);
    updates += static_cast<double>(one[2]);
    report_.updates = one[2];  // the same everywhere
  }
  report_.mean_staleness = updates > 0 ? total / updates : 0;
  report_.waiting = waiting_;
  is_finished_ = true;
  return report_;
}

// The thread.

void ParameterServer::serve() {
  try {
    serve_until_over();
  } catch (...) {
    fail(std::current_exception());
  }
}

void ParameterServer::serve_until_over() {
  const auto ends = [&] {
    const std::lock_guard lock(mutex_);
    if (leaves_ && !is_over_) {
      throw RankError(fmt::format("[ParameterServer] need all ranks to the end; got none of {}",
                                  ranks_->name(ranks_->rank())));
    }
    return is_over_ && posted_.empty();
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

void ParameterServer::check_on_time() const {
  const double limit = ranks_->time_limit().count();
  const std::optional<unsigned> late = coordinator_->late_rank(limit);
  if (!late) return;
  throw RankError(
      fmt::format("[ParameterServer] need each rank to ask for a minibatch within {:.4g} s; got "
                  "nothing from {}",
                  limit, ranks_->name(*late)));
}

bool ParameterServer::send_posted() {
  std::deque<std::pair<unsigned, Bytes>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& [to, bytes] : posted) ranks_->send(to, std::move(bytes));
  return !posted.empty();
}

void ParameterServer::handle(Communicator::Message received) {
  Header header;
  const std::span<const std::byte> payload = Header::read(received.bytes, header);
  if (header.session != session_) return;
  const unsigned from = received.from;
  const auto answer = [&](unsigned rank, const Header& to) { ranks_->send(rank, message(to)); };
  switch (header.kind) {
    case Kind::ask:
      coordinator_->ask(from, header.flag != 0);
      break;
    case Kind::ready:
      answer(from, {.kind = Kind::counts, .flag = coordinator_->counts(from) ? 1u : 0u});
      break;
    case Kind::done:
      coordinator_->done(from, header);
      break;
    case Kind::pull: {
      Bytes values;
      served_.append_values(values, header.version);
      ranks_->send(from, message({.kind = Kind::values, .version = served_.version()}, values));
      return;
    }
    case Kind::push:
      keep_push(from, header, payload);
      return;
    case Kind::pushed:
      acknowledged();
      return;
    case Kind::over:
      end_all(header);
      return;
    case Kind::failed:
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

void ParameterServer::keep_push(unsigned from, const Header& header,
                                std::span<const std::byte> gradients) {
  if (header.flag == 0) {
    served_.add(gradients, header.minibatch, header.version);
    if (header.has_rate != 0) learning_rate_ = header.learning_rate;
  }
  pushed_.push_back(from);
  if (pushed_.size() < header.needed) return;
  served_.update(learning_rate_);
  for (const unsigned rank : pushed_) ranks_->send(rank, message({.kind = Kind::pushed}));
  pushed_.clear();
}

void ParameterServer::acknowledged() {
  const std::lock_guard lock(mutex_);
  if (--not_acknowledged_ == 0) posted_.emplace_back(0, std::move(done_));
}

void ParameterServer::end_all(const Header& over) {
  const std::lock_guard lock(mutex_);
  report_.next = static_cast<std::size_t>(over.minibatch);
  report_.stopped = over.flag != 0;
  report_.loss = over.loss;
  report_.losses = over.losses;
  report_.skipped = over.skipped;
  report_.dropped = static_cast<std::size_t>(over.dropped);
  is_over_ = true;
  changed_.notify_all();
}

// The worker throws it, and so do all others.
void ParameterServer::fail(std::exception_ptr failure) {
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
    const Bytes bytes = message({.kind = Kind::failed}, std::as_bytes(std::span(why)));
    for (unsigned rank = 0; rank < ranks_->size(); ++rank) {
      if (rank != ranks_->rank()) ranks_->send(rank, bytes);
    }
    const Clock::time_point start = Clock::now();
    while (ranks_->is_sending() && seconds_since(start) < kParting.count()) {
      std::this_thread::sleep_for(kNap);
    }
  } catch (const std::exception&) {
    // Nobody is there to be told.
  }
}

}  // namespace dynet_like
