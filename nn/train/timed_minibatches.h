// TimedMinibatches: records the first minibatches of a training run on a timeline.
#pragma once

#include <optional>
#include <string_view>

#include "dynet_like/core/timeline.h"
#include "nn/train/report_options.h"

namespace dynet_like::nn {

/// An event for the lifetime of the object, if there is a timeline.
class TimedEvent {
 public:
  TimedEvent(Timeline* timeline, std::string_view name) {
    if (timeline != nullptr) scope_.emplace(*timeline, name);
  }

 private:
  std::optional<Timeline::Scope> scope_;
};

class TimedMinibatches {
 public:
  void begin(const ReportOptions& options) {
    minibatch_.reset();
    minibatch_.emplace(options.timeline, "minibatch");
  }
  /// `saves`: saves the file after the last timed minibatch. Throws FileError.
  void end(const ReportOptions& options, bool saves) {
    minibatch_.reset();
    if (++timed_ != options.timeline_minibatches || options.timeline == nullptr) return;
    options.timeline->stop();
    if (saves) finish(options);
  }
  /// Ends a minibatch that was not completed.
  void leave() { minibatch_.reset(); }
  /// Saves the file at the end of the run. Throws FileError.
  void finish(const ReportOptions& options) {
    if (options.timeline == nullptr || options.timeline_file.empty() || is_saved_) return;
    options.timeline->save(options.timeline_file);
    is_saved_ = true;
  }

 private:
  std::optional<TimedEvent> minibatch_;
  unsigned timed_ = 0;
  bool is_saved_ = false;
};

}  // namespace dynet_like::nn
