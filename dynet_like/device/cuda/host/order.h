// The order in which blocks of a launch, and threads of a block, run on the CPU.
#pragma once

#include <cstdint>
#include <random>

namespace dynet_like::detail::cuda::host {

enum class Order : std::uint8_t { ascending, descending, random };

/// Results must have the same bits in all orders; a result that does not depends on a race. Work
/// runs as late as possible (ascending), at once (descending) or at random times (random).
struct Schedule {
  Order order = Order::ascending;
  std::uint64_t seed = 1;  ///< of the random order
};

/// Reads the environment variable DYNET_LIKE_CUDA_HOST_ORDER: "ascending" (also if it is not set),
/// "descending", "random", or "random:SEED". Throws UsageError for another value.
///
/// A device reads it whenever its memory is opened, so it may change between two submissions.
Schedule read_schedule();
/// Sets that variable.
void set_schedule(const Schedule& schedule);

/// The numbers 0, ..., count - 1, each once, in the given order.
class Sequence {
 public:
  Sequence(std::uint64_t count, Order order, std::mt19937_64& random);

  std::uint64_t next() {
    const std::uint64_t at = next_;
    next_ += step_;
    if (next_ >= count_) next_ -= count_;
    return at;
  }

 private:
  std::uint64_t count_, next_, step_;
};

}  // namespace dynet_like::detail::cuda::host
