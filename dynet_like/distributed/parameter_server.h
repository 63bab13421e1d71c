// ParameterServer: training by ranks that do not wait for each other after every minibatch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/distributed/turns.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

namespace detail {
class ServerThread;
}  // namespace detail

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
  using Awaited = std::function<std::string()>;

  Communicator::Message answer(double limit, const Awaited& awaited);
  void pull();
  bool gradient_counts();

  std::shared_ptr<Communicator> ranks_;
  Trainer& trainer_;
  std::size_t first_, next_;
  std::vector<std::vector<std::shared_ptr<ParameterStorage>>> shares_;  ///< by server
  std::unique_ptr<detail::ServerThread> server_;                        ///< of this rank
  std::optional<detail::Turns::Turn> turn_;
  bool wants_gradient_ = false;
  std::vector<std::uint64_t> versions_;  ///< of the parameters, by server
  double waiting_ = 0;
};

}  // namespace dynet_like
