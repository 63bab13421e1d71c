// ParameterServer: the worker's side.
#include "dynet_like/distributed/parameter_server.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <span>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "dynet_like/distributed/elapsed.h"
#include "dynet_like/distributed/server_thread.h"

namespace dynet_like {

using namespace detail;

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = Communicator::Bytes;

// Rank 0 knows which rank the others wait for: they wait longer, so that it reports first.
constexpr double kPatience = 2;

// Starts a session. Ranks that differ would serve each other wrong values, so compares them first.
// Messages of an earlier server that failed may still arrive: the returned number, which all
// messages carry, tells them apart.
std::uint64_t begin_session(Communicator& ranks, Trainer& trainer, const Relaxation& relaxation,
                            std::size_t first, std::size_t end) {
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

}  // namespace

ParameterServer::ParameterServer(std::shared_ptr<Communicator> ranks, Trainer& trainer,
                                 Relaxation relaxation, std::size_t first, std::size_t end)
    : ranks_(std::move(ranks)),
      trainer_(trainer),
      first_(first),
      next_(first),
      versions_(ranks_->size(), 0) {
  const std::uint64_t session = begin_session(*ranks_, trainer, relaxation, first, end);
  shares_ = shares_of(trainer.parameters(), ranks_->size());
  server_ = std::make_unique<ServerThread>(ranks_, trainer, shares_[ranks_->rank()], relaxation,
                                           first, end, session);
}

ParameterServer::~ParameterServer() = default;

Communicator::Message ParameterServer::answer(double limit, const Awaited& awaited) {
  const Clock::time_point start = Clock::now();
  Communicator::Message message = server_->answer(limit, awaited);
  waiting_ += seconds_since(start);
  return message;
}

std::optional<std::size_t> ParameterServer::next(bool stops) {
  if (wants_gradient_) skip();
  server_->post(0, {.kind = MessageKind::ask, .flag = stops ? 1u : 0u});
  const Communicator::Message message =
      answer(kPatience, [&] { return "a turn from " + ranks_->name(0); });
  MessageHeader header;
  MessageHeader::read(message.bytes, header);
  turn_.reset();
  if (header.kind == MessageKind::none) return {};
  turn_ = {static_cast<std::size_t>(header.minibatch), header.round, header.needed};
  next_ = turn_->minibatch + 1;
  wants_gradient_ = true;
  pull();
  return turn_->minibatch;
}

void ParameterServer::pull() {
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    server_->post(server, {.kind = MessageKind::pull, .version = versions_[server]});
  }
  std::vector<bool> has_come(ranks_->size(), false);
  for (unsigned i = 0; i < ranks_->size(); ++i) {
    const Communicator::Message message = answer(1, [&] {
      return "values from " + names_of(*ranks_, [&](unsigned r) { return !has_come[r]; });
    });
    MessageHeader header;
    read_values(MessageHeader::read(message.bytes, header), shares_[message.from]);
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
  server_->expect_acknowledgements({.kind = MessageKind::done, .losses = losses, .loss = loss});
  const MessageHeader header = {.kind = MessageKind::push,
                                .needed = turn_->needed,
                                .learning_rate = learning_rate.value_or(0),
                                .has_rate = learning_rate.has_value(),
                                .minibatch = turn_->minibatch};
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    Bytes payload;
    append_gradients(payload, gradients, shares_[server]);
    MessageHeader to_server = header;
    to_server.version = versions_[server];
    server_->post(server, to_server, payload);
  }
}

void ParameterServer::skip(bool has_loss) {
  wants_gradient_ = false;
  if (!gradient_counts()) return;
  server_->expect_acknowledgements({.kind = MessageKind::done,
                                    .skipped = has_loss ? 1u : 0u,
                                    .without_loss = has_loss ? 0u : 1u});
  for (unsigned server = 0; server < ranks_->size(); ++server) {
    server_->post(server, {.kind = MessageKind::push, .flag = 1, .needed = turn_->needed});
  }
}

bool ParameterServer::gradient_counts() {
  if (turn_->round == 0) return true;
  server_->post(0, {.kind = MessageKind::ready});
  const Communicator::Message message =
      answer(1, [&] { return "an answer from " + ranks_->name(0); });
  MessageHeader header;
  MessageHeader::read(message.bytes, header);
  return header.flag != 0;
}

ParameterServer::Report ParameterServer::finish() {
  const Clock::time_point start = Clock::now();
  const MessageHeader over = server_->join(kPatience, [] { return "the end of all minibatches"; });
  Report report;
  report.waiting = waiting_ + seconds_since(start);
  report.next = static_cast<std::size_t>(over.minibatch);
  report.stopped = over.flag != 0;
  report.loss = over.loss;
  report.losses = over.losses;
  report.skipped = over.skipped;
  report.without_loss = over.without_loss;
  report.dropped = static_cast<std::size_t>(over.dropped);
  const ServedParameters& served = server_->served();
  std::vector<Bytes> all;
  ranks_->all_gather(served.state(), all);
  load_states(trainer_, all, shares_);
  const std::uint64_t mine[] = {served.most_staleness(), served.total_staleness(),
                                served.version()};
  ranks_->all_gather(std::as_bytes(std::span(mine)), all);
  double total = 0, updates = 0;
  for (const Bytes& bytes : all) {
    std::uint64_t one[3];
    std::memcpy(one, bytes.data(), sizeof(one));
    report.most_staleness = std::max(report.most_staleness, one[0]);
    total += static_cast<double>(one[1]);
    updates += static_cast<double>(one[2]);
    report.updates = one[2];  // the same on all ranks
  }
  report.mean_staleness = updates > 0 ? total / updates : 0;
  return report;
}

}  // namespace dynet_like
