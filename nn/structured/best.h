// Best: the largest of several numbers.
#pragma once

namespace dynet_like::nn {

/// The largest number that was offered, and its place; of equal numbers the first.
struct Best {
  double score = 0;
  unsigned at = 0;
  bool found = false;

  void offer(double other, unsigned place) {
    if (!found || other > score) *this = {other, place, true};
  }
};

}  // namespace dynet_like::nn
