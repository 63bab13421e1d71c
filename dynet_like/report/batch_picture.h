// A picture of what ran together: a row for every batch, a column for every sample.
#pragma once

#include <cstddef>

namespace dynet_like {

/// What Minibatch::draw_batches shows.
struct BatchPicture {
  std::size_t samples = 12;  ///< the first so many have columns
  std::size_t first_row = 0;
  std::size_t rows = 60;  ///< at most, from `first_row` on
};

}  // namespace dynet_like
