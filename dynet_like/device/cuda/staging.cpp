// Staging: several chunks are later replaced by one.
#include "dynet_like/device/cuda/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace dynet_like::detail::cuda {

namespace {

constexpr std::size_t kFirstChunk = std::size_t{64} << 10;
// So many submissions may be under way before one waits: more than a minibatch has.
constexpr std::size_t kMostStagings = 64;

}  // namespace

Staging::~Staging() {
  free_chunks();
  runtime_.free_mark(read_);
}

void Staging::free_chunks() noexcept {
  for (const Chunk& chunk : chunks_) {
    runtime_.free_pinned(chunk.here);
    runtime_.free(chunk.there);
  }
  chunks_.clear();
}

void Staging::add_chunk(std::size_t size) {
  chunks_.reserve(chunks_.size() + 1);
  void* const there = runtime_.allocate(size);
  try {
    chunks_.push_back({static_cast<std::byte*>(runtime_.allocate_pinned(size)),
                       static_cast<std::byte*>(there), size, 0});
  } catch (...) {
    runtime_.free(there);
    throw;
  }
  runtime_.loans().take_back(there, size);
}

void* Staging::add(const void* from, std::size_t size) {
  const std::size_t rounded = (size + 15) / 16 * 16;
  if (chunks_.empty() || chunks_.back().size - chunks_.back().used < rounded) {
    const std::size_t grown = chunks_.empty() ? kFirstChunk : 2 * chunks_.back().size;
    add_chunk(std::max(grown, rounded));
  }
  Chunk& chunk = chunks_.back();
  if (size > 0) std::memcpy(chunk.here + chunk.used, from, size);
  void* const there = chunk.there + chunk.used;
  chunk.used += rounded;
  runtime_.loans().lend(there, size);
  return there;
}

void Staging::upload() {
  for (const Chunk& chunk : chunks_) {
    if (chunk.used > 0) runtime_.copy_to_device(chunk.there, chunk.here, chunk.used);
  }
}

std::size_t Staging::used() const {
  std::size_t used = 0;
  for (const Chunk& chunk : chunks_) used += chunk.used;
  return used;
}

void Staging::recycle(std::size_t size) noexcept {
  for (Chunk& chunk : chunks_) {
    runtime_.loans().take_back(chunk.there, chunk.used);
    chunk.used = 0;
  }
  if (chunks_.size() == 1 && chunks_[0].size >= size) return;
  free_chunks();
  try {
    if (size > 0) add_chunk(std::max(std::bit_ceil(size), kFirstChunk));
  } catch (...) {  // the next list begins with a small chunk
  }
}

StagingPool::StagingPool(Runtime& runtime)
    : runtime_(runtime), current_(std::make_unique<Staging>(runtime)) {
  for (Stagings* list : {&free_, &under_way_}) list->reserve(kMostStagings);
}

// Creates a staging if the device has yet to read all others; waits for one if there are many.
void StagingPool::find_free() {
  const auto free_oldest = [&] {
    free_.push_back(std::move(under_way_.front()));
    under_way_.erase(under_way_.begin());
    free_.back()->recycle(largest_);
  };
  while (!under_way_.empty() && under_way_.front()->is_read()) free_oldest();
  if (!free_.empty()) return;
  if (under_way_.size() + 1 < kMostStagings) {
    free_.push_back(std::make_unique<Staging>(runtime_));
    return free_.back()->recycle(largest_);
  }
  under_way_.front()->wait_until_read();
  free_oldest();
}

void StagingPool::advance() noexcept {
  if (current_->used() > largest_) {
    largest_ = current_->used();
    for (const auto& staging : free_) staging->recycle(largest_);
  }
  under_way_.push_back(std::move(current_));
  current_ = std::move(free_.back());
  free_.pop_back();
}

}  // namespace dynet_like::detail::cuda
