// TimedMinibatches: records the first minibatches of a training run on a timeline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dynet_like/core/timeline.h"

namespace dynet_like::nn {

class TimedMinibatches {
 public:
  /// See TrainingOptions.
  TimedMinibatches(Timeline* timeline, unsigned minibatches, std::string file)
      : timeline_(timeline), minibatches_(minibatches), file_(std::move(file)) {}

  void begin() { open(minibatch_, "minibatch"); }
  /// `saves`: saves the file after the last timed minibatch. Throws FileError.
  void end(bool saves) {
    minibatch_.reset();
    if (++timed_ != minibatches_ || timeline_ == nullptr) return;
    timeline_->stop();
    if (saves) finish();
  }
  /// Ends a minibatch that was not completed.
  void leave() { minibatch_.reset(); }
  /// Saves the file at the end of the run. Throws FileError.
  void finish() {
    if (timeline_ == nullptr || file_.empty() || is_saved_) return;
    timeline_->save(file_);
    is_saved_ = true;
  }
  /// Records an event for the lifetime of the scope, if there is a timeline.
  void open(std::optional<Timeline::Scope>& scope, std::string_view name) const {
    if (timeline_ != nullptr) scope.emplace(*timeline_, name);
  }

 private:
  Timeline* timeline_;
  unsigned minibatches_;
  std::string file_;
  std::optional<Timeline::Scope> minibatch_;
  unsigned timed_ = 0;
  bool is_saved_ = false;
};

}  // namespace dynet_like::nn
