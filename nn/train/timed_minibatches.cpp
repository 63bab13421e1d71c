// Counts the minibatches of a timeline, and saves it.
#include "nn/train/timed_minibatches.h"

namespace dynet_like::nn {

void TimedMinibatches::open(std::optional<Timeline::Scope>& scope, std::string_view name) const {
  if (timeline_ != nullptr) scope.emplace(*timeline_, name);
}

void TimedMinibatches::begin() { open(minibatch_, "minibatch"); }

void TimedMinibatches::end(bool saves) {
  minibatch_.reset();
  if (++timed_ != minibatches_ || timeline_ == nullptr) return;
  timeline_->stop();
  if (saves) finish();
}

void TimedMinibatches::finish() {
  if (timeline_ == nullptr || file_.empty() || is_saved_) return;
  timeline_->save(file_);
  is_saved_ = true;
}

}  // namespace dynet_like::nn
