// Moving averages of parameters, which often do better than the last values.
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
  float beta = 0;            ///< Of an exponential average.
  unsigned update_freq = 1;  ///< It is taken in every update_freq-th update.

  /// Throws UsageError unless 0 < beta < 1, if there is one, and update_freq > 0.
  void check() const;
  std::string description() const;
};

/// The averages of a trainer's parameters, and their weights while the averages stand in for them.
/// Averages are taken of whole tables: rows that were left behind are brought up to date for it.
class ParameterAverages {
 public:
  struct Average {
    std::shared_ptr<ParameterStorage> parameter;
    std::uint64_t count = 0;  // of the values in it
    detail::Block values;
    detail::Block weights;  // what the parameter held, while the average is swapped in
  };

  MovingAverageSettings settings;

  std::span<const Average> all() const { return averages_; }
  /// Whether averages are taken in this update; they are counted from 1.
  bool is_due(std::uint64_t update) const {
    return settings.kind != MovingAverage::None && update % settings.update_freq == 0;
  }
  /// Whether the parameters hold their averages; and throws UsageError if they do.
  bool swapped() const { return swapped_; }
  void check_not_swapped() const;
  /// From the next update on. Throws UsageError as check() does, and after the first update.
  void start(const MovingAverageSettings& wanted, std::uint64_t updates);

  /// All that may fail before averages are taken. Parameters that are updated and have no average
  /// yet get zeros. Throws UsageError unless all parameters are of one collection, or of
  /// subcollections of it: their numbers tell them apart.
  void prepare(std::span<const std::shared_ptr<ParameterStorage>> parameters);
  /// Takes the values of all parameters with an average, of those that are updated; and then counts
  /// them.
  void take() const;
  void count();
  /// Takes over averages from elsewhere; none to start anew. What the parameters hold stays. If
  /// memory runs out, nothing is changed.
  void replace(std::vector<Average> averages);

  /// Throws UsageError, before anything is changed, if there is no average, or it is in place.
  void swap_in(bool save_weights, bool bias_correction);
  /// Throws UsageError, before anything is changed, unless the weights were saved.
  void swap_out();

 private:
  std::vector<Average> averages_;
  std::vector<detail::Pair> pairs_;  // what take() is about to do
  std::vector<std::size_t> taken_;   // which averages these are
  std::vector<bool> known_;          // by the parameter's index: it is in averages_
  bool swapped_ = false, saved_ = false;
};

}  // namespace dynet_like
