// ParameterAverages: updates averages, and swaps them with the weights.
#include "dynet_like/train/moving_average.h"

#include <cmath>
#include <cstring>
#include <istream>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/make_room.h"
#include "dynet_like/device/updates.h"
#include "dynet_like/train/parameter_state.h"

namespace dynet_like {

using namespace detail;

namespace {

Block make_block(const ParameterStorage& storage) {
  return Block(bytes_of(storage), storage.device().memory());
}

// Changes the values of the chosen parameters: of all of them or, if that fails, of none.
template <class Choose, class Change>
void change_together(std::span<const ParameterAverages::Average> averages, const Choose& choose,
                     const Change& change) {
  const auto for_chosen = [&](const auto& use) {
    for (const ParameterAverages::Average& one : averages) {
      if (choose(one)) use(one, *one.parameter);
    }
  };
  for_chosen([](const auto&, ParameterStorage& storage) { storage.refresh_rows(); });
  if (averages.empty()) return;
  averages.front().parameter->device().updates().together([&] { for_chosen(change); });
  for_chosen([](const auto&, ParameterStorage& storage) { storage.values.device_written(); });
}

constexpr const char* kAverageNames[] = {"None", "Cumulative", "Exponential"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const MovingAverage& average) {
  return out << kAverageNames[static_cast<int>(average)];
}
std::istream& operator>>(std::istream& in, MovingAverage& average) {
  std::string word;
  in >> word;
  for (const MovingAverage kind :
       {MovingAverage::None, MovingAverage::Cumulative, MovingAverage::Exponential}) {
    if (word == kAverageNames[static_cast<int>(kind)]) return average = kind, in;
  }
  in.setstate(std::ios::failbit);
  return in;
}

void MovingAverageSettings::check() const {
  if (update_freq == 0) {
    throw UsageError("[Trainer] need an update_freq of the moving average above 0; got 0");
  }
  if (kind == MovingAverage::Exponential && !(beta > 0 && beta < 1)) {
    throw UsageError(
        fmt::format("[Trainer] need 0 < beta < 1 for the moving average; got {}", beta));
  }
}

std::string MovingAverageSettings::description() const {
  return fmt::format("{}(beta={}, update_freq={})", kAverageNames[static_cast<int>(kind)], beta,
                     update_freq);
}

void ParameterAverages::check_not_swapped() const {
  if (!swapped_) return;
  throw UsageError(
      "[Trainer] need the weights in their place, by swap_params_to_weights() or restart(); got "
      "their moving averages");
}

void ParameterAverages::start(const MovingAverageSettings& wanted, std::uint64_t updates) {
  wanted.check();
  if (updates > 0) {
    throw UsageError(fmt::format(
        "[Trainer] need moving averages from the first update on; got {} before them", updates));
  }
  settings = wanted;
}

void ParameterAverages::prepare(std::span<const std::shared_ptr<ParameterStorage>> parameters) {
  for (const auto& parameter : parameters) {
    const ParameterStorage& first = *(averages_.empty() ? parameters[0] : averages_[0].parameter);
    if (parameter->layout != first.layout) {
      throw UsageError(
          "[Trainer] need parameters of one collection for moving averages; got some of two");
    }
    if (known_.size() <= parameter->index) known_.resize(parameter->index + 1);
    if (!parameter->updated || known_[parameter->index]) continue;
    Average average = {parameter, 0, make_block(*parameter), {}};
    parameter->device().zero(average.values.data(), average.values.size());
    make_room(averages_);
    averages_.push_back(std::move(average));
    known_[parameter->index] = true;
  }
  pairs_.clear();
  taken_.clear();
  taken_.reserve(averages_.size());
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Average& average = averages_[i];
    const ParameterStorage& storage = *average.parameter;
    if (!storage.updated) continue;
    taken_.push_back(i);
    const double share = settings.kind == MovingAverage::Cumulative
                             ? 1 / static_cast<double>(average.count + 1)
                             : 1 - static_cast<double>(settings.beta);
    pairs_.push_back({average.values.data(), storage.values.data(), storage.size(), share});
  }
}

void ParameterAverages::take() const {
  if (pairs_.empty()) return;
  const ParameterStorage* any = nullptr;
  for (const Average& average : averages_) {
    if (!average.parameter->updated) continue;
    any = average.parameter.get();
    any->refresh_rows();
  }
  any->device().updates().average(any->dtype, pairs_);
}

void ParameterAverages::count() {
  for (const std::size_t i : taken_) ++averages_[i].count;
}

void ParameterAverages::replace(std::vector<Average> averages) {
  std::vector<bool> known;
  for (const Average& average : averages) {
    const std::size_t index = average.parameter->index;
    if (known.size() <= index) known.resize(index + 1);
    known[index] = true;
  }
  averages_ = std::move(averages);
  known_ = std::move(known);
  swapped_ = saved_ = false;
}

void ParameterAverages::swap_in(bool save_weights, bool bias_correction) {
  if (averages_.empty() || swapped_) {
    throw UsageError(
        fmt::format("[Trainer] need moving averages that were taken in an update; got {}",
                    swapped_ ? "averages that are in place of the parameters already" : "none"));
  }
  const auto is_updated = [](const Average& average) { return average.parameter->updated; };
  for (Average& average : averages_) {
    const bool is_saved = save_weights && is_updated(average);
    average.weights = is_saved ? make_block(*average.parameter) : Block();
  }
  const bool corrects = bias_correction && settings.kind == MovingAverage::Exponential;
  change_together(averages_, is_updated, [&](const Average& average, ParameterStorage& storage) {
    const std::size_t bytes = bytes_of(storage);
    Device& device = storage.device();
    if (save_weights) device.copy(average.weights.data(), storage.values.data(), bytes);
    device.copy(storage.values.data(), average.values.data(), bytes);
    if (!corrects) return;
    const double beta = static_cast<double>(settings.beta);
    const double factor = 1 / (1 - std::pow(beta, static_cast<double>(average.count)));
    Elements all;
    all.dtype = storage.dtype;
    all.count = storage.size();
    all.values = storage.values.data();
    device.updates().scale(all, std::span(&factor, 1));
  });
  swapped_ = true;
  saved_ = save_weights;
}

void ParameterAverages::swap_out() {
  if (!saved_) {
    throw UsageError(fmt::format(
        "[Trainer] need moving averages in place of the parameters, and saved weights; got {}",
        swapped_ ? "averages, but no saved weights" : "the weights in their place"));
  }
  const auto is_saved = [](const Average& average) { return average.weights.size() > 0; };
  change_together(averages_, is_saved, [](const Average& average, ParameterStorage& storage) {
    storage.device().copy(storage.values.data(), average.weights.data(), bytes_of(storage));
  });
  for (Average& average : averages_) average.weights = Block();
  swapped_ = saved_ = false;
}

}  // namespace dynet_like
