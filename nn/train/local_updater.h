// Updates in the order of the minibatches, by one process.
#pragma once

#include <cstddef>

#include "nn/train/updater.h"

namespace dynet_like::nn {

class LocalUpdater : public Updater {
 public:
  using Updater::Updater;

  bool next() override;
  float update(Minibatch& batch, std::size_t losses) override;
  void update(const Gradients& gradients, double loss, std::size_t losses) override;
  void pass() override;
  void drop() override;

 protected:
  /// The gradients of the minibatches that wait for the update.
  virtual Gradients& sum() { return gradients_; }
  bool has_pending() const { return pending_.minibatches > 0; }
  void add_pending(double loss, std::size_t losses);
  /// Whether the update comes with this minibatch.
  bool is_due() const;
  void make_due_update();

 private:
  /// Minibatches whose gradients wait for the update.
  struct Pending {
    std::size_t minibatches = 0, losses = 0;
    double loss = 0;
  };

  bool is_last() const { return epoch_.position() + 1 == epoch_.size(); }
  void make_update(const Gradients& gradients);

  Gradients gradients_;
  Pending pending_;
};

}  // namespace dynet_like::nn
