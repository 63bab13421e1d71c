// Trainers: how gradients change the parameters of a collection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"
#include "dynet_like/train/cyclical_rate.h"
#include "dynet_like/train/moving_average.h"
#include "dynet_like/train/parameter_groups.h"

namespace dynet_like {

class Minibatch;

namespace detail {
class ParameterState;
class UpdateCheck;
class UpdateRule;
}  // namespace detail

/// What an update does to rows of tables without a gradient. `lazy` leaves them and their moments
/// unchanged, as DyNet and PyTorch's SparseAdam do. `exact` treats them as if their gradient were
/// zero: at the latest when they are read, they have the bits of a dense update. A parameter that
/// is not a table and has no gradient is always updated with a zero gradient.
enum class SparseUpdates { lazy, exact };

/// All that a trainer needs to continue. The tensors are views: of the trainer's memory, of
/// `copies` of a device's memory, or of a reader's memory.
struct TrainerState {
  struct Moment {
    std::shared_ptr<ParameterStorage> parameter;
    std::string name;
    Tensor values;  ///< In the shape of the parameter.
  };

  struct Average {
    std::shared_ptr<ParameterStorage> parameter;
    std::uint64_t count = 0;  ///< Of the weights that were added.
    Tensor values;
  };

  std::string kind;  ///< The name of the trainer, and its constants.
  std::uint64_t updates = 0, clipped_updates = 0;
  float learning_rate = 0, clip_threshold = 0, weight_decay = 0;
  SparseUpdates sparse_updates = SparseUpdates::lazy;
  /// For each parameter all of its moments or none; missing ones are zero.
  std::vector<Moment> moments;
  MovingAverageSettings moving_average;
  std::vector<Average> averages;
  std::vector<std::shared_ptr<const detail::Block>> copies;
};

/// Updates the parameters of a (sub)collection, except those whose updates are switched off.
///
/// You may change the settings between updates. No other thread may read the parameters during an
/// update. Several trainers may share a table, one after the other.
class Trainer {
 public:
  virtual ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Makes one step. Throws NumericError if a gradient is not finite (this is always checked; it
  /// costs little) or, in trainers that keep moments of squares, too large for them to be finite:
  /// from 2^63 (9.2e18) on in float, 2^511 in double, unless the clipping threshold is below that.
  /// Throws UsageError if the learning rate (finite, from 0), the weight decay or the clipping
  /// threshold is out of range, if averages stand in for the parameters, or if all gradients are of
  /// another model's parameters. After any exception, also if memory runs out, all parameters are
  /// unchanged. A second call with the same gradients makes another step.
  ///
  /// A GPU checks the gradients itself, and update() does not wait for it. If the GPU refuses the
  /// update, the next call of `update`, or of another function that depends on it, throws
  /// NumericError before it does anything. The refused update does not count.
  void update(const Gradients& gradients);
  /// Runs a minibatch forward and backward, and makes a step with the gradients of the sum of its
  /// losses. Returns that sum. Throws what these three functions throw.
  float update(Minibatch& batch);
  /// Waits until it is known whether the last update was made. Throws NumericError if it was
  /// refused.
  void finish_update();

  /// Throws NumericError for gradients that an update would refuse; changes nothing. Also refuses
  /// gradients so large that a sum of `summands` gradients that pass this check could be too large
  /// without clipping.
  void refuse_unusable(const Gradients& gradients, unsigned summands = 1);

  /// If the norm of the gradients of all updated parameters is larger than the threshold, scales
  /// them down to it (Pascanu et al. 2013). Off at first, unlike in DyNet.
  void enable_clipping(float threshold = 5.0f);
  void disable_clipping() { clip_threshold = 0; }

  /// Drops the moments and the averages, and counts updates from zero. The parameters stay. Throws
  /// UsageError for a learning rate out of range.
  void restart();
  void restart(float learning_rate);
  /// Drops only the moments. Everything that counts updates continues: bias correction, the cycle
  /// of the learning rate, averages. If averages stand in for the parameters, they become the
  /// parameters.
  void forget_moments();
  /// From now on these groups have settings of their own: each setting of a parameter comes from
  /// the last group that gives it and whose pattern matches. Without groups all parameters are
  /// treated alike. Groups also apply to parameters that are added later. Throws UsageError, before
  /// anything is changed, if a setting is out of range or a pattern matches no parameter. Groups
  /// are part of the kind of a state: set them before you load it.
  void set_groups(std::vector<ParameterGroup> groups);
  const std::vector<ParameterGroup>& groups() const { return groups_.all(); }
  /// From now on every update sets the learning rate from the cycle. Throws UsageError as
  /// CyclicalRate::check() does.
  void follow(const CyclicalRate& cycle);
  /// The number of updates since the start or the last restart, including one that a GPU may yet
  /// refuse; and the number of updates that were clipped.
  std::uint64_t updates() const { return updates_; }
  std::uint64_t clipped_updates() {
    finish_update();
    return clipped_updates_;
  }

  /// Averages the updated parameters, in every update_freq-th update. Averages are of whole tables,
  /// so each takes a pass over all rows. Throws UsageError unless 0 < beta < 1 and update_freq > 0,
  /// and after the first update.
  void exponential_moving_average(float beta, unsigned update_freq = 1);
  void cumulative_moving_average(unsigned update_freq = 1);
  MovingAverage moving_average() const { return averages_.settings.kind; }
  /// Replaces the parameters by their averages. Until you swap them back, which needs saved
  /// weights, update() and state() throw. Exponential averages begin at zero: bias correction
  /// divides them by 1 - beta^n after n values (Kingma and Ba 2015). Throws UsageError, before
  /// anything is changed, if there are no averages or they are swapped in already.
  void swap_params_to_moving_average(bool save_weights = true, bool bias_correction = false);
  /// Throws UsageError, before anything is changed, unless averages are swapped in and weights
  /// saved.
  void swap_params_to_weights();

  /// The whole state. First brings all rows up to date. The views are valid until the next call of
  /// any other member. Throws UsageError while averages stand in for the parameters, as
  /// load_state() does.
  TrainerState state();
  /// All settings that influence an update, besides parameters, gradients and state, as texts by
  /// name: processes that train together compare them.
  std::map<std::string, std::string> settings() const;
  /// A trainer with the same settings and state, for copies of the parameters in a collection of
  /// its own. Throws UsageError while averages stand in for the parameters.
  std::unique_ptr<Trainer> copy();
  const ParameterCollection& parameters() const { return collection_; }
  /// Continues from a state. Throws UsageError, before anything is changed, unless the state is of
  /// the same kind of trainer with the same constants, and fits the parameters.
  void load_state(const TrainerState& state);

  float learning_rate;       ///< Finite, from 0. With 0 the parameters stay unchanged.
  float clip_threshold = 0;  ///< 0 is off.
  /// Weight decay, decoupled (Loshchilov and Hutter 2019): each update multiplies all updated
  /// parameters, with or without a gradient, by 1 minus this. From 0, which is off, to below 1.
  /// AdamWTrainer first multiplies it by the learning rate.
  float weight_decay = 0;
  SparseUpdates sparse_updates = SparseUpdates::lazy;

 protected:
  Trainer(ParameterCollection collection, float learning_rate,
          std::shared_ptr<const detail::UpdateRule> rule);

  using Storages = std::span<const std::shared_ptr<ParameterStorage>>;

  /// The norm to compare with the threshold. By default it is that of the gradients of updated
  /// parameters, which a device computes itself.
  virtual std::optional<double> norm_for_clipping(const Gradients& /*gradients*/,
                                                  Storages /*updated*/) const {
    return {};
  }

 private:
  std::string kind() const;
  /// Takes in new parameters. Returns all.
  std::vector<std::shared_ptr<ParameterStorage>> find_parameters();

  ParameterCollection collection_;
  std::shared_ptr<const detail::UpdateRule> rule_;
  std::vector<std::shared_ptr<detail::ParameterState>> parameters_;  // in the collection's order
  ParameterGroups groups_;
  std::uint64_t updates_ = 0, clipped_updates_ = 0;
  std::optional<CyclicalRate> cycle_;
  ParameterAverages averages_;
  std::unique_ptr<detail::UpdateCheck> check_;
  bool is_unfinished_ = false;  // whether the device still has to say if the last update was made
};

}  // namespace dynet_like
