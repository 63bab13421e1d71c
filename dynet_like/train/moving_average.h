// Moving averages of parameters, which often predict better than the last values.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/params/parameter.h"

namespace dynet_like {

namespace detail {
struct Pair;
}

/// Cumulative: the mean of all values so far (Polyak and Juditsky 1992). Exponential:
/// a = beta a + (1 - beta) w, from zero.
enum class MovingAverage { None, Cumulative, Exponential };

/// "None", "Cumulative" or "Exponential"; reading anything else sets failbit.
std::ostream& operator<<(std::ostream& out, const MovingAverage& average);
std::istream& operator>>(std::istream& in, MovingAverage& average);

struct MovingAverageSettings {
  MovingAverage kind = MovingAverage::None;
  float beta = 0;            ///< For an exponential average.
  unsigned update_freq = 1;  ///< Every update_freq-th update adds the weights to the average.

  /// Throws UsageError unless update_freq > 0 and, for an exponential average, 0 < beta < 1.
  void check() const;
  std::string description() const;
};

/// The averages of a trainer's parameters, and the weights while averages stand in for them.
/// Averages are of whole tables: before each, rows that were left behind are brought up to date.
class ParameterAverages {
 public:
  struct Average {
    std::shared_ptr<ParameterStorage> parameter;
    std::uint64_t count = 0;  // of weights that were added
    detail::Block values;
    detail::Block weights;  // the parameter's values, while the average is swapped in
  };

  MovingAverageSettings settings;

  std::span<const Average> all() const { return averages_; }
  /// Whether this update adds to the averages. Updates are counted from 1.
  bool is_due(std::uint64_t update) const {
    return settings.kind != MovingAverage::None && update % settings.update_freq == 0;
  }
  /// Whether the parameters hold their averages. check_not_swapped() throws UsageError if they do.
  bool swapped() const { return swapped_; }
  void check_not_swapped() const;
  /// Averages from the next update on. Throws UsageError as check() does, and after the first
  /// update.
  void start(const MovingAverageSettings& wanted, std::uint64_t updates);

  /// Does all that may fail before take(). Parameters that are updated and have no average yet get
  /// zeros. Throws UsageError unless all parameters are of one collection, or of subcollections of
  /// it, because it identifies parameters by their index.
  void prepare(std::span<const std::shared_ptr<ParameterStorage>> parameters);
  /// Adds the values of parameters that are updated to their averages. Then call count().
  void take() const;
  void count();
  /// Replaces the averages; give none to start anew. The values of the parameters stay. If memory
  /// runs out, nothing is changed.
  void replace(std::vector<Average> averages);

  /// Throws UsageError, before anything is changed, if there are no averages or they are swapped
  /// in.
  void swap_in(bool save_weights, bool bias_correction);
  /// Throws UsageError, before anything is changed, unless the weights were saved.
  void swap_out();

 private:
  std::vector<Average> averages_;
  std::vector<detail::Pair> pairs_;  // the work of the next take()
  std::vector<std::size_t> taken_;   // indices of their averages
  std::vector<bool> known_;          // by the parameter's index: whether averages_ has it
  bool swapped_ = false, saved_ = false;
};

}  // namespace dynet_like
