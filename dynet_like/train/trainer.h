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

namespace detail {
class ParameterState;
class UpdateCheck;
class UpdateRule;
}  // namespace detail

/// What becomes of rows of tables that have no gradient in an update: `lazy` leaves them and their
/// moments alone, as DyNet and PyTorch's SparseAdam do; `exact` treats them as if their gradient
/// were zero, with the same bits as a dense update, at the latest when they are read next. The
/// gradient of a parameter that has none is zero.
enum class SparseUpdates { lazy, exact };

/// All that a trainer needs to go on, as views of its own memory, of `copies` of what a device has,
/// or of a reader's.
struct TrainerState {
  struct Moment {
    std::shared_ptr<ParameterStorage> parameter;
    std::string name;
    Tensor values;  ///< In the shape of the parameter.
  };

  struct Average {
    std::shared_ptr<ParameterStorage> parameter;
    std::uint64_t count = 0;  ///< Of the values in it.
    Tensor values;
  };

  std::string kind;  ///< The trainer and its constants.
  std::uint64_t updates = 0, clipped_updates = 0;
  float learning_rate = 0, clip_threshold = 0, weight_decay = 0;
  SparseUpdates sparse_updates = SparseUpdates::lazy;
  /// All or none of a parameter's moments; without them they are zero.
  std::vector<Moment> moments;
  MovingAverageSettings moving_average;
  std::vector<Average> averages;
  std::vector<std::shared_ptr<const detail::Block>> copies;
};

/// Changes the parameters of a (sub)collection, except those that are not to be updated.
///
/// The settings may be changed between updates. A trainer must not run beside a reader of the same
/// parameters. Several trainers may share a table in turn.
class Trainer {
 public:
  virtual ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// One step. Throws NumericError if a gradient is not finite (always checked; it costs little)
  /// or, for trainers that keep moments of squares, too large for finite ones: from 2^63 (9.2e18)
  /// on in float, 2^511 in double, unless the threshold of clipping is below that.
  /// Throws UsageError if the learning rate (finite, from 0), the weight decay or the threshold of
  /// clipping is out of range, averages stand in for the parameters, or there are gradients but the
  /// trainer has no parameters or all of them are of another model's. Whatever it throws, also if
  /// memory runs out, no parameter has changed. The same gradients again make another step.
  ///
  /// A GPU checks the gradients itself, and nobody waits for it. If it refuses an update, the next
  /// call of `update`, or of another function that depends on it, throws NumericError before it
  /// does anything, and the refused update does not count.
  void update(const Gradients& gradients);
  /// Waits until it is known whether the last update was made, and throws NumericError if not.
  void finish_update();

  /// Throws NumericError for gradients that an update would refuse, and makes none. `summands`: or
  /// whose sum with so many others, less one, that pass this it could refuse without clipping.
  void refuse_unusable(const Gradients& gradients, unsigned summands = 1);

  /// Gradients whose norm over all updated parameters is larger are scaled down to it (Pascanu et
  /// al. 2013). It is off at first, unlike DyNet's.
  void enable_clipping(float threshold = 5.0f);
  void disable_clipping() { clip_threshold = 0; }

  /// Forgets the moments and the averages and starts to count anew. The parameters stay. Throws
  /// UsageError for a learning rate out of range.
  void restart();
  void restart(float learning_rate);
  /// Forgets the moments alone: all that counts updates, as a bias correction, a cycle of the
  /// learning rate and averages, goes on. Averages that stand in for the parameters become their
  /// values.
  void forget_moments();
  /// From now on these groups are updated in their own way: for each parameter, each setting is
  /// that of the last group that gives it and whose pattern matches; none: all alike. Parameters
  /// that are added later belong to them, too. Throws UsageError, before anything is changed, if a
  /// group is out of range or its pattern matches no parameter. Groups are part of the kind of a
  /// state: set them before it is loaded.
  void set_groups(std::vector<ParameterGroup> groups);
  const std::vector<ParameterGroup>& groups() const { return groups_.all(); }
  /// From now on the learning rate is set after every update, and follows the cycle. Throws
  /// UsageError as CyclicalRate::check() does.
  void follow(const CyclicalRate& cycle);
  /// Number of updates since the start or the last restart, with one that a GPU may yet refuse, and
  /// of those that were clipped.
  std::uint64_t updates() const { return updates_; }
  std::uint64_t clipped_updates() {
    finish_update();
    return clipped_updates_;
  }

  /// Moving averages of the updated parameters, taken in every update_freq-th update. Averages are
  /// of whole tables, which costs a pass over all rows each time. Throws UsageError unless
  /// 0 < beta < 1 and update_freq > 0, and after the first update.
  void exponential_moving_average(float beta, unsigned update_freq = 1);
  void cumulative_moving_average(unsigned update_freq = 1);
  MovingAverage moving_average() const { return averages_.settings.kind; }
  /// Puts the averages in the place of the parameters; until they are swapped back, which needs
  /// saved weights, there is no update and no state. Exponential averages begin at zero: bias
  /// correction divides them by 1 - beta^n after n values (Kingma and Ba 2015). Throws UsageError,
  /// before anything is changed, if no average was taken or they are in place.
  void swap_params_to_moving_average(bool save_weights = true, bool bias_correction = false);
  /// Throws UsageError, before anything is changed, unless averages are in place of saved weights.
  void swap_params_to_weights();

  /// The whole state: all rows are brought up to date first. The views are valid until the next
  /// call of any other member. Throws UsageError while averages stand in for the parameters, as
  /// load_state() does.
  TrainerState state();
  /// All that an update depends on beside parameters, gradients and state, as texts by name: what
  /// several processes that train together compare.
  std::map<std::string, std::string> settings() const;
  /// A trainer of copies of the parameters, in a collection of their own, with the same settings
  /// and state. Throws UsageError while averages stand in for the parameters.
  std::unique_ptr<Trainer> copy();
  const ParameterCollection& parameters() const { return collection_; }
  /// Goes on from a state. Throws UsageError, before anything is changed, unless it is of the same
  /// kind of trainer with the same constants and fits the parameters.
  void load_state(const TrainerState& state);

  float learning_rate;       ///< Finite, from 0: with 0 the parameters stay.
  float clip_threshold = 0;  ///< 0 is off.
  /// After every update all parameters that are updated, with or without a gradient, are multiplied
  /// by 1 minus this (decoupled, Loshchilov and Hutter 2019); from 0, which is off, to below 1.
  /// AdamWTrainer multiplies it by the learning rate first.
  float weight_decay = 0;
  SparseUpdates sparse_updates = SparseUpdates::lazy;

 protected:
  Trainer(ParameterCollection collection, float learning_rate,
          std::shared_ptr<const detail::UpdateRule> rule);

  using Storages = std::span<const std::shared_ptr<ParameterStorage>>;

  /// The norm that is compared with the threshold, if it is not that of the gradients of what is
  /// updated, which a device finds itself.
  virtual std::optional<double> norm_for_clipping(const Gradients& /*gradients*/,
                                                  Storages /*updated*/) const {
    return {};
  }

 private:
  std::string kind() const;
  /// Takes in those that are new. Returns all.
  std::vector<std::shared_ptr<ParameterStorage>> find_parameters();

  ParameterCollection collection_;
  std::shared_ptr<const detail::UpdateRule> rule_;
  std::vector<std::shared_ptr<detail::ParameterState>> parameters_;  // in the collection's order
  ParameterGroups groups_;
  std::uint64_t updates_ = 0, clipped_updates_ = 0;
  std::optional<CyclicalRate> cycle_;
  ParameterAverages averages_;
  std::unique_ptr<detail::UpdateCheck> check_;
  bool is_unfinished_ = false;  // nobody knows yet whether the last update was made
};

}  // namespace dynet_like
