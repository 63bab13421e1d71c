// apply_on_cpu: copies all that an update reads, and writes the changes back to the device.
#include "dynet_like/compat/apply_on_cpu.h"

#include <algorithm>
#include <vector>

namespace dynet::detail {

using dynet_like::detail::Block;
using dynet_like::detail::Elements;

namespace {

// A copy of some of the device's numbers, and their address there.
struct Copy {
  void* there;
  Block here;
};

// Number of rows of the gradient.
std::size_t gradient_rows(const Elements& e) {
  if (e.gradient == nullptr) return 0;
  if (e.row_count == 0) return 1;
  if (e.rows != nullptr) return e.row_count;
  return e.slots == nullptr ? 0 : *std::max_element(e.slots, e.slots + e.row_count);
}

}  // namespace

void apply_on_cpu(dynet_like::Device& device, std::span<const Elements> all,
                  const std::function<void(std::span<const Elements>)>& apply) {
  std::vector<Copy> changed;
  std::vector<Block> gradients;
  std::vector<Elements> copies;
  const auto copy = [&](void* there, std::size_t bytes) -> void* {
    if (there == nullptr) return nullptr;
    changed.push_back({there, Block(bytes)});
    device.read(changed.back().here.data(), there, bytes);
    return changed.back().here.data();
  };
  for (const Elements& e : all) {
    const std::size_t row_bytes = e.count * size_of(e.dtype);
    std::size_t rows = std::max<std::size_t>(e.row_count, 1);
    if (e.rows != nullptr) rows = *std::max_element(e.rows, e.rows + e.row_count) + std::size_t{1};
    Elements here = e;
    here.values = copy(e.values, rows * row_bytes);
    for (void*& moment : here.moments) moment = copy(moment, rows * row_bytes);
    gradients.emplace_back(gradient_rows(e) * row_bytes);
    device.read(gradients.back().data(), e.gradient, gradients.back().size());
    if (e.gradient != nullptr) here.gradient = gradients.back().data();
    copies.push_back(here);
  }
  apply(copies);
  device.updates().together([&] {
    for (const Copy& copy : changed) device.write(copy.there, copy.here.data(), copy.here.size());
  });
}

}  // namespace dynet::detail
