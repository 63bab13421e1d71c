// Trainers: how gradients change the parameters of a collection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

class ParameterState;
class UpdateRule;

/// What has no gradient in an update, that is, untouched rows of tables and unused parameters:
/// `lazy` leaves it and its moments alone, as PyTorch's SparseAdam does; `exact` treats it as if
/// its gradient were zero, with the same bits as a dense update, at the latest when it is read
/// next.
enum class SparseUpdates { lazy, exact };

/// All that a trainer needs to go on, as views of its own memory or of a reader's.
struct TrainerState {
  struct Moment {
    std::shared_ptr<ParameterStorage> parameter;
    std::string name;
    Tensor values;  ///< In the shape of the parameter.
  };

  std::string kind;  ///< The trainer and its constants.
  std::uint64_t updates = 0;
  float learning_rate = 0, clip_threshold = 0;
  SparseUpdates sparse_updates = SparseUpdates::lazy;
  /// All or none of a parameter's moments; without them they are zero.
  std::vector<Moment> moments;
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

  /// One step. Throws NumericError, before anything is changed, if a gradient is not finite (always
  /// checked; it costs little), and UsageError if the learning rate is not.
  void update(const Gradients& gradients);

  /// Gradients whose norm over all updated parameters is larger are scaled down to it (Pascanu et
  /// al. 2013). It is off at first, unlike DyNet's.
  void enable_clipping(float threshold = 5.0f);
  void disable_clipping() { clip_threshold = 0; }

  /// Forgets the moments and starts to count anew.
  void restart();
  void restart(float learning_rate);
  /// Number of updates since the start or the last restart.
  std::uint64_t updates() const { return updates_; }

  /// The whole state: all rows are brought up to date first. The views are valid until the next
  /// call of any other member.
  TrainerState state();
  /// Goes on from a state. Throws UsageError, before anything is changed, unless it is of the same
  /// kind of trainer with the same constants and fits the parameters.
  void load_state(const TrainerState& state);

  float learning_rate;
  float clip_threshold = 0;  ///< 0 is off.
  SparseUpdates sparse_updates = SparseUpdates::lazy;

 protected:
  Trainer(ParameterCollection collection, float learning_rate,
          std::shared_ptr<const UpdateRule> rule);

 private:
  void find_parameters();
  double gradient_scale(const Gradients& gradients) const;
  void check(const TrainerState& state) const;
  ParameterState* find(const ParameterStorage& storage) const;

  ParameterCollection collection_;
  std::shared_ptr<const UpdateRule> rule_;
  std::vector<std::shared_ptr<ParameterState>> parameters_;  // in the collection's order
  std::uint64_t updates_ = 0;
};

}  // namespace dynet_like
