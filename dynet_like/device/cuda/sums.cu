// Sums of gradients: many segments in one launch, and outer products.
#include "dynet_like/device/cuda/commands.h"

namespace dynet_like::cuda {

namespace {

// A block for some elements of a segment; a thread for each of them.
constexpr unsigned kThreads = 128;

template <class T>
__global__ void add_segments(const SumSegment* segments, const std::uint32_t* segment_of_block,
                             const std::uint32_t* first_element, const void* const* addends) {
  const SumSegment& segment = segments[segment_of_block[blockIdx.x]];
  const std::size_t i = first_element[blockIdx.x] + threadIdx.x;
  if (i >= segment.size) return;
  T* const to = static_cast<T*>(segment.sum) + i;
  std::size_t a = segment.first;
  const std::size_t end = a + segment.count;
  T sum = 0;
  if (segment.start == SumStart::there) sum = *to;
  if (segment.start == SumStart::first) sum = static_cast<const T*>(addends[a++])[i];
  for (; a < end; ++a) sum = sum + static_cast<const T*>(addends[a])[i];
  *to = sum;
}

template <class T>
__global__ void outer_products(T* sum, unsigned rows, const void* const* dy, const void* const* x,
                               std::size_t n, bool fresh) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
  if (row >= rows) return;
  T* const to = sum + std::size_t{column} * rows + row;
  T total = fresh ? T(0) : *to;
  for (std::size_t i = 0; i < n; ++i) {
    total = fma(static_cast<const T*>(dy[i])[row], static_cast<const T*>(x[i])[column], total);
  }
  *to = total;
}

template <class T>
void launch_outer(Commands& commands, const OuterProducts& call) {
  const unsigned rows = static_cast<unsigned>(call.rows),
                 columns = static_cast<unsigned>(call.columns);
  commands.launch({(rows + kThreads - 1) / kThreads, columns, 1, kThreads}, outer_products<T>,
                  static_cast<T*>(call.sum), rows, commands.stage(call.addends.dy, call.addends.n),
                  commands.stage(call.addends.x, call.addends.n), call.addends.n, call.fresh);
}

}  // namespace

void launch_sums(Commands& commands, DType dtype, std::span<const SumSegment> segments,
                 std::span<const void* const> addends) {
  std::vector<std::uint32_t> segment_of_block, first_element;
  for (std::uint32_t s = 0; s < segments.size(); ++s) {
    for (std::size_t i = 0; i < segments[s].size; i += kThreads) {
      segment_of_block.push_back(s);
      first_element.push_back(static_cast<std::uint32_t>(i));
    }
  }
  const Shape shape{static_cast<unsigned>(segment_of_block.size()), 1, 1, kThreads};
  const auto* there = commands.stage(segments.data(), segments.size());
  const auto* blocks = commands.stage(segment_of_block.data(), segment_of_block.size());
  const auto* elements = commands.stage(first_element.data(), first_element.size());
  const auto* list = commands.stage(addends.data(), addends.size());
  if (dtype == DType::f32) {
    commands.launch(shape, add_segments<float>, there, blocks, elements, list);
  } else {
    commands.launch(shape, add_segments<double>, there, blocks, elements, list);
  }
}

void launch_outer_products(Commands& commands, DType dtype, const OuterProducts& call) {
  dtype == DType::f32 ? launch_outer<float>(commands, call) : launch_outer<double>(commands, call);
}

}  // namespace dynet_like::cuda
