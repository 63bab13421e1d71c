// Data-parallel training: several threads, each with graphs and gradients of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/graph/minibatch.h"
#include "examples/support/training.h"

namespace dynet_like::examples {

/// Calls f(0) to f(parts - 1), shared out among `threads` threads, and waits for all of them.
/// Throws what one of them threw.
void for_each_part(unsigned parts, unsigned threads, const std::function<void(unsigned)>& f);

/// Computes the gradients of minibatches in a fixed number of parts, each of them a Minibatch. Of n
/// parts, part i has the samples i, i + n, ...: where samples are sorted by size, the parts have
/// equal work. The gradients are summed in the order of the parts, so that the bits of the result
/// depend on the number of parts, but never on the number of threads or on who was first.
class ParallelTrainingBatch {
 public:
  /// Records one sample and adds its losses to the minibatch; returns how many they are.
  using AddSample = std::function<std::size_t(Minibatch&, std::uint32_t sample)>;

  using Loss = Trainee::Loss;

  /// `seed` is for dropout.
  ParallelTrainingBatch(unsigned parts, unsigned threads, std::uint64_t seed,
                        GraphOptions options = {});

  /// Runs forward and backward. `step` must be another one for every minibatch: dropout depends on
  /// it.
  Loss run(std::span<const std::uint32_t> samples, std::uint64_t step, const AddSample& add);
  /// Of the last run.
  const Gradients& gradients() const { return parts_.front().gradients; }

 private:
  struct Part {
    explicit Part(GraphOptions options);
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    Random random;
    Minibatch minibatch;
    Gradients gradients;
    Loss loss;
  };

  unsigned threads_;
  std::uint64_t seed_;
  std::deque<Part> parts_;  // which never moves them
};

}  // namespace dynet_like::examples
