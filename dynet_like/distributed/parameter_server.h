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
/// Parameter Server"); rank 0's thread also hands out the minibatches. Meanwhile the rank is a
/// worker:
///
///   ParameterServer server(ranks, trainer, relaxation, 0, minibatches);
///   while (auto minibatch = server.next()) server.push(gradients_of(*minibatch), rate, loss, n);
///   server.finish();
///
/// All ranks make one with the same arguments and the same parameters. Until finish(), do not use
/// the communicator or the trainer in another way.
class ParameterServer {
 public:
  /// Results of all workers together.
  struct Report {
    std::size_t next = 0;  ///< the first minibatch that was not trained on
    bool stopped = false;  ///< a rank was asked to stop
    double loss = 0;
    std::uint64_t losses = 0, updates = 0;
    std::uint64_t skipped = 0, without_loss = 0;  ///< minibatches without gradients: see skip()
    std::size_t dropped = 0;                      ///< gradients that came too late
    std::uint64_t most_staleness = 0;             ///< the most updates that a gradient lacked
    double mean_staleness = 0;
    double waiting = 0;  ///< seconds that this worker waited for turns and values
  };

  /// For minibatches from `first` to `end` - 1. Throws UsageError as Relaxation::check() does, for
  /// parameters on a GPU, for tables with exact updates or weight decay, and if ranks have
  /// different arguments, parameters, or settings of trainers.
  ParameterServer(std::shared_ptr<Communicator> ranks, Trainer& trainer, Relaxation relaxation,
                  std::size_t first, std::size_t end);
  /// If finish() has not returned, makes all other ranks fail.
  ~ParameterServer();
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// The next minibatch of this worker, after bringing its parameters up to date; nothing if there
  /// are no more. `stops`: this rank was asked to stop, and so all ranks will. Throws RankError if
  /// a rank has failed.
  std::optional<std::size_t> next(bool stops = false);
  /// Gives the gradients of that minibatch. `learning_rate` is for this update; by default the
  /// trainer's.
  void push(const Gradients& gradients, std::optional<float> learning_rate, double loss,
            std::uint64_t losses);
  /// Ends the turn without gradients. `has_loss`: whether the minibatch had a loss.
  void skip(bool has_loss = true);
  /// The number of minibatches whose gradients make one update.
  unsigned summands() const { return turn_->needed; }
  /// Waits for all workers, and gives all ranks the same state of the trainer and its parameters.
  Report finish();
  /// The first minibatch that no rank had begun when this worker got its last one.
  std::size_t begun() const { return next_; }
  /// How many updates come before that of this minibatch, if ranks keep their order.
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
  std::unique_ptr<detail::ServerThread> server_;                        ///< this rank's
  std::optional<detail::Turns::Turn> turn_;
  bool wants_gradient_ = false;
  std::vector<std::uint64_t> versions_;  ///< of the parameters, by server
  double waiting_ = 0;
};

}  // namespace dynet_like
