// ParameterServer: training by ranks that do not wait for each other after every minibatch.
#pragma once

#include <chrono>
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
#include "dynet_like/params/gradients.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

/// One rank's part in training on some minibatches. A thread of its own serves a share of the
/// parameters to all ranks (Li et al. 2014, "Scaling Distributed Machine Learning with the
/// Parameter Server"); that of rank 0 also gives out the minibatches. Meanwhile the rank is a
/// worker:
///
///   ParameterServer server(ranks, trainer, relaxation, 0, minibatches);
///   while (auto minibatch = server.next()) server.push(gradients_of(*minibatch), rate, loss, n);
///   server.finish();
///
/// All ranks make one with the same arguments and the same parameters. Until finish() nobody else
/// may use the communicator or the trainer.
class ParameterServer {
 public:
  /// What all workers did together.
  struct Report {
    std::size_t next = 0;  ///< the first minibatch that nobody trained on
    bool stopped = false;  ///< a rank was asked to
    double loss = 0;
    std::uint64_t losses = 0, updates = 0, skipped = 0;
    std::size_t dropped = 0;           ///< gradients that came too late
    std::uint64_t most_staleness = 0;  ///< of a gradient: updates that it lacked
    double mean_staleness = 0;
    double waiting = 0;  ///< seconds of this worker, for turns and values
  };

  /// Minibatches from `first` to `end` - 1. Throws UsageError as Relaxation::check() does, for
  /// parameters on a GPU, for tables that are updated exactly or decay, and where ranks have other
  /// arguments, parameters, or trainers of other settings.
  ParameterServer(std::shared_ptr<Communicator> ranks, Trainer& trainer, Relaxation relaxation,
                  std::size_t first, std::size_t end);
  /// Unless finish() has returned, all other ranks fail.
  ~ParameterServer();
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// The next minibatch of this worker, whose parameters are brought up to date; nothing if there
  /// are no more. `stops`: this rank was asked to stop, and so will all. Throws RankError if a rank
  /// has failed.
  std::optional<std::size_t> next(bool stops = false);
  /// The gradients of that minibatch. Their update is made with this learning rate, or with the
  /// trainer's own.
  void push(const Gradients& gradients, std::optional<float> learning_rate, double loss,
            std::uint64_t losses);
  /// There are none.
  void skip();
  /// Of how many minibatches the update is, whose gradients are added up.
  unsigned summands() const { return turn_->needed; }
  /// Waits for all workers, and makes the trainer and its parameters the same everywhere.
  Report finish();
  /// The first minibatch that nobody had begun when this worker got its last one.
  std::size_t begun() const { return next_; }
  /// How many updates come before that of this minibatch, if ranks keep to their order.
  std::uint64_t update_number() const {
    return turn_->round > 0 ? turn_->round - 1 : turn_->minibatch - first_;
  }

 private:
  using Bytes = Communicator::Bytes;
  struct Header;
  class Coordinator;

  static std::uint64_t begin_session(Communicator& ranks, Trainer& trainer,
                                     const Relaxation& relaxation, std::size_t first,
                                     std::size_t end);
  Bytes message(Header header, std::span<const std::byte> payload = {}) const;

  // The worker.
  void post(unsigned to, const Header& header, std::span<const std::byte> payload = {});
  void pull();
  bool gradient_counts();
  void expect_acknowledgements(const Header& done);
  using Awaited = std::function<std::string()>;  ///< what a message says if it does not come
  Communicator::Message answer(double limit, const Awaited& awaited);
  template <class Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, double limit, const Awaited& awaited,
                  const Ready& ready);

  // The thread.
  void serve();
  void serve_until_over();
  void check_on_time() const;
  bool send_posted();
  void handle(Communicator::Message received);
  void keep_push(unsigned from, const Header& header, std::span<const std::byte> gradients);
  void acknowledged();
  void end_all(const Header& over);
  void fail(std::exception_ptr failure);

  std::shared_ptr<Communicator> ranks_;
  Trainer& trainer_;
  std::size_t first_, next_;
  std::uint64_t session_;
  std::vector<detail::Storages> shares_;

  // The worker's.
  std::optional<detail::Turns::Turn> turn_;
  bool wants_gradient_ = false, is_finished_ = false;
  std::vector<std::uint64_t> versions_;  ///< of the parameters, by server
  double waiting_ = 0;

  // The thread's.
  detail::ServedParameters served_;
  std::unique_ptr<Coordinator> coordinator_;  ///< on rank 0
  std::vector<unsigned> pushed_;              ///< ranks whose gradients wait for others
  std::optional<float> learning_rate_;        ///< of the next update

  // Shared by both.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<unsigned, Bytes>> posted_;
  std::deque<Communicator::Message> answers_;
  Bytes done_;  ///< to be sent to rank 0 when all servers have the gradients
  unsigned not_acknowledged_ = 0;
  bool leaves_ = false, is_over_ = false;
  std::exception_ptr failure_;
  Report report_;
  std::thread thread_;
};

}  // namespace dynet_like
