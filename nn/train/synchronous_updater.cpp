// SynchronousUpdater: for ranks that share the shards of each minibatch and make the same update.
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/gradient_exchange.h"
#include "nn/train/updater.h"

namespace dynet_like::nn {

namespace {

class SynchronousUpdater : public LocalUpdater {
 public:
  SynchronousUpdater(const TrainingOptions& options, Trainer& trainer, TrainingRanks& ranks)
      : LocalUpdater(options, trainer, ranks),
        exchange_(ranks.communicator(), trainer.parameters(), options.ranks.shards),
        gradients_(exchange_.own_shards().size()) {}

  void begin(const TrainingEpoch&) override {
    mean_busy_ = most_busy_ = 0;
    before_ = ranks_.communicator()->times();
  }

  void end() override {
    LocalUpdater::end();
    after_ = ranks_.communicator()->times();
  }

  const std::vector<std::uint32_t>& samples(const TrainingEpoch&) const override {
    return own_samples_;
  }
  std::optional<std::size_t> next(TrainingState& run) override;
  float update(Minibatch& batch, std::size_t losses, TrainingState& run) override;
  void update(const Gradients& gradients, double loss, std::size_t losses,
              TrainingState& run) override {
    Updater::update(gradients, loss, losses, run);
  }

  void pass(TrainingState& run) override {
    if (has_pending() && is_due(run.epoch)) {
      ranks_.together([&] {
        exchange_.send(gradients_);
        exchange_.receive();
      });
    }
    LocalUpdater::pass(run);
  }

  void drop() override {
    LocalUpdater::drop();
    exchange_.clear();
    for (Gradients& gradients : gradients_) gradients.clear();
  }

  std::string shares_of_time(double seconds) const override;

 protected:
  Gradients& sum() override {
    Gradients* sum = nullptr;
    ranks_.together([&] { sum = &exchange_.sum(); });
    return *sum;
  }

 private:
  std::vector<double> run_shards(Minibatch& batch, const TrainingEpoch& epoch);

  GradientExchange exchange_;
  std::vector<Gradients> gradients_;                   // of each shard of this rank
  std::vector<std::uint32_t> own_samples_, own_ends_;  // of the minibatch, and of its shards
  Communicator::Times before_, after_;                 // around the minibatches of an epoch
  double mean_busy_ = 0, most_busy_ = 0;
};

std::optional<std::size_t> SynchronousUpdater::next(TrainingState& run) {
  const TrainingEpoch& epoch = run.epoch;
  const std::optional<std::size_t> next = LocalUpdater::next(run);
  if (!next) return next;
  const Shards all = cut_into_shards(epoch.samples(), epoch.costs(), options_.ranks.shards);
  const RankPart own = exchange_.own_shards();
  const std::uint32_t first = own.begin == 0 ? 0 : all.ends[own.begin - 1];
  own_samples_.assign(all.samples.begin() + first, all.samples.begin() + all.ends[own.end - 1]);
  own_ends_.clear();
  for (std::size_t shard = own.begin; shard < own.end; ++shard) {
    own_ends_.push_back(all.ends[shard] - first);
  }
  return next;
}

// Runs forward and backward, and adds the gradients of each shard. Sends them if an update is due.
// Returns the losses of the shards in order.
std::vector<double> SynchronousUpdater::run_shards(Minibatch& batch, const TrainingEpoch& epoch) {
  if (batch.size() != own_samples_.size()) {
    throw UsageError(
        fmt::format("[TrainingRun] need a graph for each sample that the loop is given, "
                    "in this order, to sum their gradients by shards; got {} for {}",
                    batch.size(), own_samples_.size()));
  }
  finite_loss(batch, epoch, own_ends_);
  Minibatch::OnComplete pack;
  if (is_due(epoch)) pack = [&](const ParameterStorage& p) { exchange_.pack(gradients_, p); };
  batch.backward(own_ends_, gradients_, pack);
  if (is_due(epoch)) exchange_.send(gradients_);
  std::vector<double> losses;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : own_ends_) {
    losses.push_back(batch.loss_of(begin, end));
    begin = end;
  }
  return losses;
}

float SynchronousUpdater::update(Minibatch& batch, std::size_t losses, TrainingState& run) {
  const TrainingEpoch& epoch = run.epoch;
  RankWord mine;
  std::exception_ptr failure;
  try {
    mine.shard_losses = run_shards(batch, epoch);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    mine.failure = *error.what() == 0 ? "an exception" : error.what();
  }
  static_cast<RankNumbers&>(mine) = ranks_.numbers(run);
  mine.losses = losses;
  mine.terms = batch.losses().added;
  mine.busy_seconds = epoch.seconds_of_minibatch();
  if (is_due(epoch)) {
    ranks_.together([&] {
      if (failure) exchange_.send_nothing();
      exchange_.receive();
    });
  }
  const AllWords all = ranks_.agree(std::move(mine), run.progress.updates);
  mean_busy_ += all.mean_busy_seconds;
  most_busy_ += all.most_busy_seconds;
  if (failure) std::rethrow_exception(failure);
  check_losses(all.terms, all.losses, epoch);
  add_pending(all.loss, all.losses, all.terms);
  update_if_due(run);
  return static_cast<float>(all.loss);
}

// Shares of this rank's time in the minibatches of an epoch. Imbalance is the time that would be
// saved if all ranks computed equally long.
std::string SynchronousUpdater::shares_of_time(double seconds) const {
  if (ranks_.size() == 1 || seconds <= 0 || most_busy_ <= 0) return "";
  return fmt::format(", communication {:.1f} %, waiting {:.1f} %, imbalance {:.1f} %",
                     100 * (after_.transfer - before_.transfer) / seconds,
                     100 * (after_.waiting - before_.waiting) / seconds,
                     100 * (most_busy_ - mean_busy_) / seconds);
}

}  // namespace

std::unique_ptr<Updater> synchronous_updater(const TrainingOptions& options, Trainer& trainer,
                                             TrainingRanks& ranks) {
  return std::make_unique<SynchronousUpdater>(options, trainer, ranks);
}

}  // namespace dynet_like::nn
