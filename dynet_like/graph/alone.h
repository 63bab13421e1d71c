// What no other thread may do meanwhile, nor a function that records samples.
#pragma once

#include "dynet_like/graph/minibatch.h"
#include "dynet_like/tape/type_table.h"

namespace dynet_like {

/// This thread has the minibatch to itself as long as it lives.
class Minibatch::Alone {
 public:
  /// Throws UsageError if another thread uses it, it runs, or samples of it are being recorded.
  Alone(const Minibatch& batch, const char* user) : use_(checked(batch, user).user) {
    batch.types_->runs.check();
  }

 private:
  static detail::TypeTable& checked(const Minibatch& batch, const char* user) {
    batch.check_not_recording(user);
    return *batch.types_;
  }

  detail::OneThread::Use use_;
};

}  // namespace dynet_like
