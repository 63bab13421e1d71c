// Counts the minibatches of a timeline, and saves it.
#include "nn/train/timed_minibatches.h"

namespace dynet_like::nn {

void TimedMinibatches::open(std::optional<Timeline::Scope>& scope, std::string_view name) const {
  if (options_.timeline != nullptr) scope.emplace(*options_.timeline, name);
}

void TimedMinibatches::begin() { open(minibatch_, "minibatch"); }

void TimedMinibatches::end(bool saves) {
  minibatch_.reset();
  if (++timed_ != options_.minibatches || options_.timeline == nullptr) return;
  options_.timeline->stop();
  if (saves) finish();
}

void TimedMinibatches::finish() {
  if (options_.timeline == nullptr || options_.file.empty() || is_saved_) return;
  options_.timeline->save(options_.file);
  is_saved_ = true;
}

}  // namespace dynet_like::nn
