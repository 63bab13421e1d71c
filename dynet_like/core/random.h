// Counter-based random numbers: a pure function of where they are used, never of when or by whom.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dynet_like {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"):
/// four words that are a function of a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

/// A number in [0, 1) from the upper 24 bits of a word: exact in float and in double.
inline double unit_interval(std::uint32_t word) { return (word >> 8) * 0x1p-24; }

/// What all random numbers of one training step have in common.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t first_sample = 0;  ///< the number of the first sample of a minibatch
};

/// The words of one random node: a function of (seed, step, sample, ordinal, index).
class RandomStream {
 public:
  RandomStream(RandomKey key, std::uint32_t sample, std::uint32_t ordinal)
      : key_(philox_key(key)), sample_(sample), ordinal_(ordinal) {}

  /// The key of its blocks; their counters are (block, sample, ordinal).
  static std::uint64_t philox_key(RandomKey key) {
    return key.seed ^ (key.step * 0x9E3779B97F4A7C15ull);
  }

  /// The four words with indices 4 * block to 4 * block + 3.
  std::array<std::uint32_t, 4> block(std::uint64_t block) const {
    return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                   sample_, ordinal_},
                  key_);
  }

 private:
  std::uint64_t key_;
  std::uint32_t sample_, ordinal_;
};

/// A seed and a position: the whole state of a sequence of random numbers, small enough to save.
/// It is a standard uniform random bit generator of 32-bit words.
class Random {
 public:
  using result_type = std::uint32_t;

  explicit Random(std::uint64_t seed = 0, std::uint64_t position = 0)
      : seed_(seed), position_(position) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }

  /// The key of the next step: every call gives another, and all graphs of a step share one. Safe
  /// to call from several threads.
  RandomKey next_step() {
    return {seed_, std::atomic_ref(position_).fetch_add(1, std::memory_order_relaxed),
            first_sample_};
  }
  /// The samples of minibatches that take a step from now on are numbered from here: those of a
  /// part of a larger minibatch then have the numbers that they have there.
  void number_samples_from(std::uint32_t first) { first_sample_ = first; }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()();

  /// A number in [0, 1).
  double uniform() { return unit_interval((*this)()); }
  /// A number in [0, n), every one equally likely; n must not be 0.
  std::uint32_t below(std::uint32_t n);
  /// A number of the standard normal distribution (Box and Muller 1958).
  double normal();

  /// Fisher-Yates, with the same result on every standard library.
  template <class Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i) {
      using std::swap;
      swap(sequence[i - 1], sequence[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t seed_, position_;
  std::uint32_t first_sample_ = 0;
};

}  // namespace dynet_like
