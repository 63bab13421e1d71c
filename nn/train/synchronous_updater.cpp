// Ranks that share each minibatch, shard by shard, and make the same update.
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "nn/train/local_updater.h"
#include "nn/train/shared_minibatch.h"

namespace dynet_like::nn {

namespace {

class SynchronousUpdater : public LocalUpdater {
 public:
  SynchronousUpdater(TrainingState& run, TrainingEpoch& epoch, TrainingRanks& ranks)
      : LocalUpdater(run, epoch, ranks), shared_(run.ranks, run.model, run.options.shards) {}

  void begin() override {
    mean_busy_ = most_busy_ = 0;
    before_ = run_.ranks->times();
  }

  void end() override {
    LocalUpdater::end();
    after_ = run_.ranks->times();
  }

  bool next() override {
    if (!LocalUpdater::next()) return false;
    shared_.begin(epoch_.samples(), epoch_.costs());
    epoch_.random().number_samples_from(shared_.first_sample());
    return true;
  }

  const std::vector<std::uint32_t>& samples() const override { return shared_.own_samples(); }

  float update(Minibatch& batch, std::size_t losses) override;
  void update(const Gradients& gradients, double loss, std::size_t losses) override {
    Updater::update(gradients, loss, losses);
  }

  void pass() override {
    if (has_pending() && is_due()) {
      ranks_.together([&] {
        shared_.send();
        shared_.receive();
      });
    }
    LocalUpdater::pass();
  }

  void drop() override {
    LocalUpdater::drop();
    shared_.clear();
  }

  std::string shares_of_time() const override;

 protected:
  Gradients& sum() override {
    Gradients* sum = nullptr;
    ranks_.together([&] { sum = &shared_.sum(); });
    return *sum;
  }

 private:
  SharedMinibatch shared_;
  Communicator::Times before_, after_;  // the minibatches of an epoch
  double mean_busy_ = 0, most_busy_ = 0;
};

float SynchronousUpdater::update(Minibatch& batch, std::size_t losses) {
  RankWord mine;
  std::exception_ptr failure;
  try {
    finite_loss(batch);
    mine.shard_losses = shared_.backward(batch, is_due());
  } catch (const std::exception& error) {
    failure = std::current_exception();
    mine.failure = error.what();
  }
  static_cast<RankNumbers&>(mine) = ranks_.word();
  mine.losses = losses;
  mine.terms = batch.trained_losses();
  mine.busy_seconds = epoch_.seconds_of_minibatch();
  if (is_due()) {
    ranks_.together([&] {
      if (failure) shared_.send_nothing();
      shared_.receive();
    });
  }
  const AllWords all = ranks_.agree(std::move(mine));
  mean_busy_ += all.mean_busy_seconds;
  most_busy_ += all.most_busy_seconds;
  if (failure) std::rethrow_exception(failure);
  check_losses(all.terms);
  add_pending(all.loss, all.losses);
  make_due_update();
  return static_cast<float>(all.loss);
}

// Of the minibatches of an epoch, on this rank. Imbalance is what would be gained if all ranks took
// equally long for what they compute.
std::string SynchronousUpdater::shares_of_time() const {
  const double seconds = epoch_.seconds();
  if (run_.ranks->size() == 1 || seconds <= 0 || most_busy_ <= 0) return "";
  return fmt::format(", communication {:.1f} %, waiting {:.1f} %, imbalance {:.1f} %",
                     100 * (after_.transfer - before_.transfer) / seconds,
                     100 * (after_.waiting - before_.waiting) / seconds,
                     100 * (most_busy_ - mean_busy_) / seconds);
}

}  // namespace

std::unique_ptr<Updater> synchronous_updater(TrainingState& run, TrainingEpoch& epoch,
                                             TrainingRanks& ranks) {
  return std::make_unique<SynchronousUpdater>(run, epoch, ranks);
}

}  // namespace dynet_like::nn
