// The recursions that a lane has run, until they are forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/exec/repeated_vertices.h"

namespace dynet_like::detail {

class RecursionRun;

class Recursions {
 public:
  /// Uses this memory of a device.
  explicit Recursions(std::shared_ptr<MemorySource> memory);
  ~Recursions();

  /// The recursion of a batch, or null.
  RecursionRun* find(std::uint32_t batch) const;
  /// Makes room for one more, so that `add` cannot fail.
  void make_room();
  /// The batch must have a larger number than all others with a recursion.
  void add(std::uint32_t batch, std::unique_ptr<RecursionRun> run) noexcept;
  /// Forgets the recursions of batches from `batches` on.
  void resize(std::uint32_t batches) noexcept;

  /// The gradients of the last backward pass inside programs.
  Arena gradients;
  RepeatSearches searches;

 private:
  struct OfBatch {
    std::uint32_t batch;
    std::unique_ptr<RecursionRun> run;
  };
  std::vector<OfBatch> all_;
};

}  // namespace dynet_like::detail
