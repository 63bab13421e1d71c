// Sorts sequences by their length.
#include "bench/by_hand/steps.h"

#include <algorithm>
#include <numeric>

namespace dynet_like::bench::by_hand {

Steps::Steps(std::span<const std::size_t> lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::size_t width = order.size();
  for (std::size_t step = 0;; ++step) {
    while (width > 0 && lengths[order[width - 1]] <= step) --width;
    if (width == 0) break;
    begins_.push_back(begins_.back() + width);
  }
  elements_.reserve(begins_.back());
  for (std::size_t step = 0; step < count(); ++step) {
    for (std::size_t place = 0; place < this->width(step); ++place) {
      const std::size_t sequence = order[place];
      elements_.push_back({sequence, step, begin(lengths[sequence] - 1 - step) + place});
    }
  }
}

}  // namespace dynet_like::bench::by_hand
