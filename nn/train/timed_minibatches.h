// The first minibatches of a training run on a timeline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dynet_like/core/timeline.h"

namespace dynet_like::nn {

struct TimelineOptions {
  /// Gets an event for every minibatch and for every update. Those of graphs it has by
  /// GraphOptions::timeline. Must outlive the run; null: none.
  Timeline* timeline = nullptr;
  /// It stops after so many minibatches, so that the picture stays small; 0: it does not.
  unsigned minibatches = 20;
  /// The timeline is saved here as soon as it stops, or at the end of the run; empty: nowhere.
  std::string file = {};
};

class TimedMinibatches {
 public:
  explicit TimedMinibatches(TimelineOptions options) : options_(std::move(options)) {}

  void begin();
  /// `saves`: if it is the last one. Throws FileError.
  void end(bool saves);
  /// The same of one that was not completed.
  void leave() { minibatch_.reset(); }
  /// Of the run. Throws FileError.
  void finish();
  /// An event as long as the scope lives, if there is a timeline.
  void open(std::optional<Timeline::Scope>& scope, std::string_view name) const;

 private:
  TimelineOptions options_;
  std::optional<Timeline::Scope> minibatch_;
  unsigned timed_ = 0;
  bool is_saved_ = false;
};

}  // namespace dynet_like::nn
