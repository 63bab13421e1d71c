// TrainingOptions::updates: the length of a run.
#include "nn/train/training_options.h"

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

std::uint64_t TrainingOptions::updates(std::size_t samples) const {
  if (batch_size == 0 || accumulate == 0) {
    throw UsageError(
        fmt::format("[TrainingOptions] need batch_size and accumulate above 0; got {} and {}",
                    batch_size, accumulate));
  }
  const std::uint64_t minibatches = samples / batch_size + (samples % batch_size > 0 ? 1 : 0);
  return epochs * (minibatches / accumulate + (minibatches % accumulate > 0 ? 1 : 0));
}

}  // namespace dynet_like::nn
