// The recursions that a lane has run, until they are forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dynet_like/core/memory.h"

namespace dynet_like::detail {

class RecursionRun;

class Recursions {
 public:
  /// In this memory of a device.
  explicit Recursions(std::shared_ptr<MemorySource> memory);
  ~Recursions();

  /// That of a batch, or null.
  RecursionRun* find(std::uint32_t batch) const;
  /// Makes room for one more, so that `add` cannot fail.
  void make_room();
  /// Of a batch behind all others that have one.
  void add(std::uint32_t batch, std::unique_ptr<RecursionRun> run) noexcept;
  /// Forgets those of batches from `batches` on.
  void resize(std::uint32_t batches) noexcept;

  /// What programs computed in the last backward pass.
  Arena gradients;

 private:
  struct OfBatch {
    std::uint32_t batch;
    std::unique_ptr<RecursionRun> run;
  };
  std::vector<OfBatch> all_;
};

}  // namespace dynet_like::detail
