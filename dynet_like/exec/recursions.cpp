// Finds the recursion of a batch.
#include "dynet_like/exec/recursions.h"

#include <algorithm>

#include "dynet_like/core/make_room.h"
#include "dynet_like/exec/recursion_backward.h"

namespace dynet_like::detail {

Recursions::Recursions(std::shared_ptr<MemorySource> memory) : gradients(std::move(memory)) {}
Recursions::~Recursions() = default;

RecursionRun* Recursions::find(std::uint32_t batch) const {
  const auto found =
      std::lower_bound(all_.begin(), all_.end(), batch,
                       [](const OfBatch& of, std::uint32_t number) { return of.batch < number; });
  return found != all_.end() && found->batch == batch ? found->run.get() : nullptr;
}

void Recursions::make_room() { detail::make_room(all_); }

void Recursions::add(std::uint32_t batch, std::unique_ptr<RecursionRun> run) noexcept {
  all_.push_back({batch, std::move(run)});
}

void Recursions::resize(std::uint32_t batches) noexcept {
  while (!all_.empty() && all_.back().batch >= batches) all_.pop_back();
}

}  // namespace dynet_like::detail
