// Counter-based random numbers: a pure function of a seed and a position, whatever the thread and
// the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dynet_like {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"):
/// four words that are a function of a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

/// A number in [0, 1) from the upper 24 bits of a word: exact in float and in double.
inline double unit_interval(std::uint32_t word) { return (word >> 8) * 0x1p-24; }

/// A seed derived from another seed and two numbers, for example for each graph of a minibatch or
/// each sample of an epoch.
std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b);

/// A random number generator whose whole state is a seed and a position, so that it is easy to
/// save. It is a C++ uniform random bit generator of 32-bit words.
class Random {
 public:
  using result_type = std::uint32_t;

  explicit Random(std::uint64_t seed = 0, std::uint64_t position = 0)
      : seed_(seed), position_(position) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()();

  /// A number in [0, 1).
  double uniform() { return unit_interval((*this)()); }
  /// A number in [0, n), all equally likely; n must not be 0.
  std::uint32_t below(std::uint32_t n);
  /// A number of the standard normal distribution (Box and Muller 1958).
  double normal();

  /// Shuffles by Fisher-Yates, with the same result on every standard library.
  template <class Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i) {
      using std::swap;
      swap(sequence[i - 1], sequence[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t seed_, position_;
};

}  // namespace dynet_like
