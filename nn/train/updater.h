// Updaters: make updates from the minibatches of a training run, in one process or with ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/graph/minibatch.h"
#include "dynet_like/params/gradients.h"
#include "dynet_like/train/trainer.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_options.h"
#include "nn/train/training_ranks.h"

namespace dynet_like::nn {

/// Keeps the gradients that wait for an update. The run gives it its state with each call.
class Updater {
 public:
  /// All must outlive it.
  Updater(const TrainingOptions& options, Trainer& trainer, TrainingRanks& ranks)
      : options_(options), trainer_(trainer), ranks_(ranks) {}
  virtual ~Updater() = default;
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  /// Called before the first minibatch of a loop, and after the last one or when the loop was left.
  virtual void begin(const TrainingEpoch&) {}
  virtual void end() { drop(); }
  /// The position of the next minibatch of this rank; empty if there are no more, or if all ranks
  /// stop.
  virtual std::optional<std::size_t> next(TrainingState& run) = 0;
  /// The samples of a minibatch that has begun that are this rank's.
  virtual const std::vector<std::uint32_t>& samples(const TrainingEpoch& epoch) const {
    return epoch.samples();
  }
  /// Runs the minibatch, and updates the parameters if an update is due. Returns the loss over all
  /// ranks that share it. A minibatch without any loss is counted, and is no reason for an update.
  virtual float update(Minibatch& batch, std::size_t losses, TrainingState& run) = 0;
  /// Throws UsageError where ranks or shards train together.
  virtual void update(const Gradients& gradients, double loss, std::size_t losses,
                      TrainingState& run);
  /// Called when the minibatch is done, with update() or without.
  virtual void pass(TrainingState&) {}
  /// Discards gradients that wait for an update.
  virtual void drop() = 0;

  /// Whether this rank has the parameters of the last update.
  virtual bool is_up_to_date() const { return true; }
  /// Shares of the seconds of the last loop, as text: ", waiting 3.0 %".
  virtual std::string shares_of_time(double) const { return ""; }

 protected:
  /// Throws NumericError as TrainingOptions::not_finite says. `shards`: see Minibatch::forward.
  float finite_loss(Minibatch& batch, const TrainingEpoch& epoch,
                    std::span<const std::uint32_t> shards = {}) const;
  /// Throws UsageError for terms of a loss whose mean is to be that of no losses.
  void check_losses(std::uint64_t terms, std::size_t losses, const TrainingEpoch& epoch) const;
  static void add_gradients(Minibatch& batch, Gradients& sum);

  const TrainingOptions& options_;
  Trainer& trainer_;
  TrainingRanks& ranks_;
};

/// Updates in one process, in the order of the minibatches.
class LocalUpdater : public Updater {
 public:
  using Updater::Updater;

  std::optional<std::size_t> next(TrainingState& run) override;
  float update(Minibatch& batch, std::size_t losses, TrainingState& run) override;
  void update(const Gradients& gradients, double loss, std::size_t losses,
              TrainingState& run) override;
  void pass(TrainingState& run) override;
  void drop() override;

 protected:
  /// The gradients of the minibatches that wait for the update.
  virtual Gradients& sum() { return gradients_; }
  bool has_pending() const { return pending_.minibatches > 0; }
  /// Adds a minibatch, whose loss is a sum of `terms` and is divided by `losses`.
  void add_pending(double loss, std::size_t losses, std::uint64_t terms);
  /// Whether an update is due after this minibatch.
  bool is_due(const TrainingEpoch& epoch) const;
  void update_if_due(TrainingState& run);

 private:
  /// Minibatches whose gradients wait for the update.
  struct Pending {
    std::size_t minibatches = 0, without_loss = 0, losses = 0;
    double loss = 0;

    bool has_loss() const { return without_loss < minibatches; }
  };

  void make_update(const Gradients& gradients, TrainingState& run);

  Gradients gradients_;
  Pending pending_;
};

/// The updater that the options ask for.
std::unique_ptr<Updater> make_updater(const TrainingOptions& options, Trainer& trainer,
                                      TrainingRanks& ranks);
/// For ranks that share each minibatch, and for those that do not wait for each other.
std::unique_ptr<Updater> synchronous_updater(const TrainingOptions& options, Trainer& trainer,
                                             TrainingRanks& ranks);
std::unique_ptr<Updater> relaxed_updater(const TrainingOptions& options, Trainer& trainer,
                                         TrainingRanks& ranks);

}  // namespace dynet_like::nn
