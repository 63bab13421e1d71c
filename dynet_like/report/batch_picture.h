// A picture of the nodes that ran together: a row for every batch, a column for every sample.
#pragma once

#include <cstddef>

namespace dynet_like {

/// The part of a run that Minibatch::draw_batches shows.
struct BatchPicture {
  std::size_t samples = 12;  ///< so many of the first samples have columns
  std::size_t first_row = 0;
  std::size_t rows = 60;  ///< at most so many, from `first_row` on
};

}  // namespace dynet_like
