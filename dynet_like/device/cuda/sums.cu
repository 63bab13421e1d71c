// Sums of gradients: many segments in one launch.
//
// The order of additions depends only on the number of addends. Few addends are one chain, up to
// kChunk a chain per warp of a block, whose results are added in order. More are sums of chunks.
#include "dynet_like/device/cuda/items.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr unsigned kBlock = 256, kWarps = kBlock / kWarp;
constexpr std::size_t kChain = 64;  // the most addends of one chain
constexpr std::size_t kChunk = kWarps * kChain;

__device__ __host__ constexpr bool is_long(const SumSegment& segment) {
  return segment.count > kChain;
}

// The elements and the segment that a block sums.
struct SumBlock {
  std::uint32_t segment, stretch;
};

// begin + a_first[i] + a_(first+1)[i] + ...
template <class T>
__device__ T add_chain(T begin, const void* const* addends, std::size_t count, std::size_t i) {
  for (std::size_t a = 0; a < count; ++a) begin = begin + static_cast<const T*>(addends[a])[i];
  return begin;
}

template <class T>
__device__ void add_few(const SumSegment& segment, const void* const* addends, std::size_t i) {
  if (i >= segment.size) return;
  T* const to = static_cast<T*>(segment.sum) + i;
  const bool from_first = segment.start == SumStart::first && segment.count > 0;
  T begin = segment.start == SumStart::there ? *to : T(0);
  if (from_first) begin = static_cast<const T*>(addends[0])[i];
  *to = add_chain(begin, addends + from_first, segment.count - from_first, i);
}

// All warps have the same elements, and each has a chain of its own.
template <class T>
__device__ void add_many(const SumSegment& segment, const void* const* addends,
                         std::uint32_t stretch) {
  SHARED_ARRAY(T, ends, kBlock);
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::size_t i = std::size_t{stretch} * kWarp + lane, first = warp * kChain;
  if (i < segment.size && first < segment.count) {
    const std::size_t left = segment.count - first;
    T begin = static_cast<const T*>(addends[first])[i];
    if (warp == 0 && segment.start == SumStart::there) {
      begin = static_cast<const T*>(segment.sum)[i] + begin;
    }
    ends[threadIdx.x] =
        add_chain(begin, addends + first + 1, (left < kChain ? left : kChain) - 1, i);
  }
  __syncthreads();
  if (i >= segment.size || warp > 0) return;
  T sum = ends[lane];
  for (unsigned w = 1; w * kChain < segment.count; ++w) sum = sum + ends[w * kWarp + lane];
  static_cast<T*>(segment.sum)[i] = sum;
}

// kLong: some segments have many addends.
template <class T, bool kLong>
__global__ void __launch_bounds__(kBlock)
    add_segments(const SumSegment* segments, const SumBlock* blocks, const void* const* addends) {
  wait_for_earlier();
  const SumBlock block = blocks[blockIdx.x];
  const SumSegment& segment = segments[block.segment];
  addends += segment.first;
  if constexpr (kLong) {
    if (is_long(segment)) return add_many<T>(segment, addends, block.stretch);
  }
  add_few<T>(segment, addends, std::size_t{block.stretch} * kBlock + threadIdx.x);
}

// For segments of at most kChunk addends.
template <class T>
void launch_chunks(Commands& commands, std::span<const SumSegment> segments,
                   std::span<const void* const> addends) {
  std::vector<SumBlock> blocks;
  bool any_long = false;
  for (std::uint32_t s = 0; s < segments.size(); ++s) {
    const bool many = is_long(segments[s]);
    any_long = any_long || many;
    const std::size_t stretches = ceil_divide(segments[s].size, many ? kWarp : kBlock);
    for (std::uint32_t i = 0; i < stretches; ++i) blocks.push_back({s, i});
  }
  if (blocks.empty()) return;
  const Shape shape = early({launch_size(blocks.size()), 1, 1, kBlock});
  const auto* there = commands.stage(segments.data(), segments.size());
  const auto* of_blocks = commands.stage(blocks.data(), blocks.size());
  const auto* list = commands.stage(addends.data(), addends.size());
  if (any_long) {
    commands.launch_cooperating(shape, add_segments<T, true>, there, of_blocks, list);
  } else {
    commands.launch(shape, add_segments<T, false>, there, of_blocks, list);
  }
}

template <class T>
void launch(Commands& commands, std::span<const SumSegment> segments,
            std::span<const void* const> addends) {
  std::vector<SumSegment> now, later;
  std::vector<const void*> ends;  // sums of chunks: the addends of later segments
  for (const SumSegment& segment : segments) {
    if (segment.count <= kChunk) {
      now.push_back(segment);
      continue;
    }
    const std::size_t chunks = ceil_divide(segment.count, kChunk);
    later.push_back({segment.sum, segment.size, ends.size(), chunks, segment.start});
    T* end = commands.elements<T>(chunks * segment.size);
    for (std::size_t done = 0; done < segment.count; done += kChunk, end += segment.size) {
      now.push_back({end, segment.size, segment.first + done,
                     std::min(kChunk, segment.count - done), SumStart::first});
      ends.push_back(end);
    }
  }
  launch_chunks<T>(commands, now, addends);
  if (!later.empty()) launch<T>(commands, later, ends);
}

}  // namespace

void launch_sums(Commands& commands, DType dtype, std::span<const SumSegment> segments,
                 std::span<const void* const> addends) {
  dtype == DType::f32 ? launch<float>(commands, segments, addends)
                      : launch<double>(commands, segments, addends);
}

}  // namespace dynet_like::detail::cuda
