// The thread of a rank that serves a share of the parameters to all ranks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/served_parameters.h"
#include "dynet_like/distributed/turns.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like::detail {

/// The kind of a message between workers and servers.
enum class MessageKind : std::uint32_t {
  ask,     // worker to rank 0: may I have a minibatch? flag: the rank was asked to stop
  turn,    // rank 0's answer: `minibatch`, `round`, `needed`
  none,    // rank 0's other answer: there are no more minibatches
  pull,    // worker to a server: send values; of tables, rows that changed after `version`
  values,  // its answer: the values of `version`
  ready,   // worker to rank 0, in rounds: does my gradient count?
  counts,  // rank 0's answer: flag
  push,    // worker to a server: the gradients of `minibatch`; flag: there are none
  pushed,  // its answer: the parameters have been updated with them
  done,    // worker to rank 0: all servers have answered; with the loss, or why there is none
  over,    // rank 0 to all: training has ended; with the sums over all minibatches
  failed,  // any rank to all: it has failed, with the reason
};

/// The beginning of every message. Fields that a kind of message does not use are 0.
struct MessageHeader {
  MessageKind kind = MessageKind::ask;
  std::uint32_t flag = 0, needed = 0;
  float learning_rate = 0;
  std::uint32_t has_rate = 0;
  std::uint64_t minibatch = 0, round = 0, version = 0, losses = 0;
  std::uint64_t skipped = 0, without_loss = 0, dropped = 0;
  std::uint64_t session = 0;
  double loss = 0;

  Communicator::Bytes with(std::span<const std::byte> payload) const;
  /// Returns the payload that follows the header. Throws RankError.
  static std::span<const std::byte> read(const Communicator::Bytes& bytes, MessageHeader& header);
};

/// Serves parameters until all workers have ended. Rank 0's thread also hands out the minibatches.
/// The worker of the same rank sends messages through it, and gets all servers' answers from it. A
/// failure in the thread is thrown to the worker, and reported to all ranks.
class ServerThread {
 public:
  using Bytes = Communicator::Bytes;
  using Awaited = std::function<std::string()>;  ///< names a missing answer

  /// For minibatches from `first` to `end` - 1. Ignores messages of another session.
  ServerThread(std::shared_ptr<Communicator> ranks, Trainer& trainer, const Storages& share,
               Relaxation relaxation, std::size_t first, std::size_t end, std::uint64_t session);
  /// If join() has not returned, makes all other ranks fail.
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  void post(unsigned to, const MessageHeader& header, std::span<const std::byte> payload = {});
  /// The next answer. Waits for up to `limit` times the ranks' time limit. Throws RankError.
  Communicator::Message answer(double limit, const Awaited& awaited);
  /// Sends `done` to rank 0 when all servers have acknowledged the gradients.
  void expect_acknowledgements(const MessageHeader& done);
  /// Waits until all workers have ended. Returns the sums over all minibatches.
  MessageHeader join(double limit, const Awaited& awaited);
  /// Call it after join().
  const ServedParameters& served() const { return served_; }

 private:
  class Coordinator;

  Bytes message(MessageHeader header, std::span<const std::byte> payload = {}) const;
  template <class Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, double limit, const Awaited& awaited,
                  const Ready& ready);

  void serve();
  void serve_until_over();
  void check_on_time() const;
  bool send_posted();
  void handle(Communicator::Message received);
  void keep_push(unsigned from, const MessageHeader& header, std::span<const std::byte> gradients);
  void acknowledged();
  void fail(std::exception_ptr failure);

  std::shared_ptr<Communicator> ranks_;
  std::uint64_t session_;

  // Used by the thread alone.
  ServedParameters served_;
  std::unique_ptr<Coordinator> coordinator_;  ///< on rank 0
  std::vector<unsigned> pushed_;              ///< ranks whose gradients wait for those of others

  // Shared with the worker, under the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<unsigned, Bytes>> posted_;
  std::deque<Communicator::Message> answers_;
  Bytes done_;  ///< sent to rank 0 when all servers have the gradients
  unsigned not_acknowledged_ = 0;
  bool leaves_ = false;
  std::optional<MessageHeader> over_;  ///< set when training has ended
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace dynet_like::detail
