// How much faster samples are together than one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <stdexcept>

namespace dynet_like::examples {

/// Samples per second of processor time: what other programs take does not count.
struct Speeds {
  double together = 0, alone = 0;
};

/// Runs work(together) and work(1) in turns, which both work on so many samples with one thread,
/// that many at a time, and takes the fastest of several runs: what disturbs a run only makes it
/// slower. Throws std::logic_error unless both return the same.
template <class Work>
Speeds measure_speeds(std::size_t samples, std::size_t together, const Work& work) {
  const auto run = [&](std::size_t at_a_time, double& fastest) {
    const std::clock_t start = std::clock();
    auto result = work(at_a_time);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    fastest = std::max(fastest, static_cast<double>(samples) / seconds);
    return result;
  };
  Speeds speeds;
  for (int i = 0; i < 3; ++i) {
    if (run(together, speeds.together) != run(1, speeds.alone))
      throw std::logic_error("samples have other results together than alone");
  }
  return speeds;
}

}  // namespace dynet_like::examples
