// Block and Arena.
#include "dynet_like/core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/forgotten.h"
#include "dynet_like/core/sanitizer.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kFirstChunk = std::size_t{64} << 10;
constexpr std::size_t kLargestChunk = std::size_t{64} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

#ifdef NDEBUG
constexpr bool kSpoils = false;
#else
constexpr bool kSpoils = true;
#endif

[[noreturn]] void throw_no_memory(std::size_t size) {
  throw DeviceError("[memory] need " + counted(size, "byte") +
                    "; the system has no more. Bound the memory of a minibatch with "
                    "GraphOptions::memory_limit, or make minibatches smaller");
}

}  // namespace

void FreeAligned::operator()(std::byte* memory) const {
  if (source != nullptr) {
    source->free(memory, size);
  } else if (shared_size != 0) {
    munmap(memory, shared_size);
  } else {
    ::operator delete(memory, alignment);
  }
}

Block Block::shared(std::size_t size) {
  Block block;
  block.size_ = size;
  const std::size_t mapped = std::max<std::size_t>(size, 1);
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_no_memory(size);
  block.memory_ = {static_cast<std::byte*>(memory), FreeAligned{std::align_val_t{64}, mapped}};
  return block;
}

Block::Block(std::size_t size, const std::shared_ptr<MemorySource>& source) {
  if (source == nullptr) {
    *this = Block(size);
    return;
  }
  memory_ = {source->allocate(size), FreeAligned{std::align_val_t{64}, 0, source, size}};
  size_ = size;
}

Block::Block(std::size_t size) : size_(size) {
  const bool large = size >= 2 * kHugePage;
  const std::align_val_t alignment{large ? kHugePage : 64};
  void* memory = ::operator new(std::max<std::size_t>(size, 1), alignment, std::nothrow);
  if (memory == nullptr) throw_no_memory(size);
#ifdef __linux__
  if (large) madvise(memory, size, MADV_HUGEPAGE);  // no harm if it is refused
#endif
  memory_ = {static_cast<std::byte*>(memory), FreeAligned{alignment}};
}

Arena::Arena(std::shared_ptr<MemorySource> source)
    : source_(std::move(source)),
      spoils_(kSpoils && source_ == nullptr),
      gap_(source_ == nullptr ? 0 : source_->gap()) {}

void* Arena::allocate(std::size_t size) {
  const std::size_t room = room_for(size);
  while (chunk_ < chunks_.size() && used_ + room > chunks_[chunk_].size()) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t grown = chunks_.empty() ? kFirstChunk : 2 * chunks_.back().size();
    // Add some room, because the next minibatch usually needs a little more.
    chunks_.emplace_back(std::max(room + room / 4, std::min(grown, kLargestChunk)), source_);
    used_ = 0;
    take_back(chunks_.back().data(), chunks_.back().size());
  }
  std::byte* memory = chunks_[chunk_].data() + used_;
  used_ += room;
  total_ += rounded(size);
  peak_ = std::max(peak_, total_);
  if (spoils_) unpoison(memory, room);
  lend(memory, size);
  return memory;
}

// Calls action(memory, size) for all bytes that were handed out after the mark, by chunk.
template <class Action>
void Arena::for_all_from(const Mark& mark, const Action& action) const {
  for (std::size_t c = mark.chunk; c < chunks_.size() && c <= chunk_; ++c) {
    const std::size_t begin = c == mark.chunk ? mark.used : 0;
    const std::size_t end = c == chunk_ ? used_ : chunks_[c].size();
    if (begin < end) action(chunks_[c].data() + begin, end - begin);
  }
}

// Chunks and allocations begin at multiples of the size of a double, and chunks end there.
void Arena::spoil_from(const Mark& mark) {
  for_all_from(mark, [](std::byte* memory, std::size_t size) {
    unpoison(memory, size);
    for (std::size_t i = 0; i + sizeof(kForgottenDouble) <= size; i += sizeof(kForgottenDouble)) {
      std::memcpy(memory + i, &kForgottenDouble, sizeof(kForgottenDouble));
    }
    poison(memory, size);
  });
}

void Arena::rewind(const Mark& mark) {
  if (spoils_) spoil_from(mark);
  if (source_ != nullptr) {
    for_all_from(mark, [&](const std::byte* memory, std::size_t size) { take_back(memory, size); });
  }
  chunk_ = mark.chunk;
  used_ = mark.used;
  total_ = mark.total;
}

std::size_t Arena::bytes_before(const Mark& mark, const std::byte* memory, std::size_t size) const {
  for (std::size_t c = 0; c < chunks_.size() && c <= mark.chunk; ++c) {
    const std::size_t used = c < mark.chunk ? chunks_[c].size() : mark.used;
    const auto offset = reinterpret_cast<std::uintptr_t>(memory) -
                        reinterpret_cast<std::uintptr_t>(chunks_[c].data());
    if (offset < used) return std::min(size, used - offset);
  }
  return 0;
}

bool Arena::begins_chunk(const std::byte* memory) const {
  return std::any_of(chunks_.begin(), chunks_.end(),
                     [&](const Block& chunk) { return chunk.data() == memory; });
}

std::size_t Arena::capacity() const {
  std::size_t sum = 0;
  for (const Block& chunk : chunks_) sum += chunk.size();
  return sum;
}

}  // namespace dynet_like::detail
