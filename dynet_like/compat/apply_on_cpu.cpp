// apply_on_cpu: copies of all that an update reads, and what it changed back to the device.
#include "dynet_like/compat/apply_on_cpu.h"

#include <algorithm>
#include <vector>

namespace dynet::detail {

using dynet_like::detail::Block;
using dynet_like::detail::Elements;

namespace {

// A copy of numbers of the device, until they are written back.
struct Copy {
  void* there;
  Block here;
};

std::byte* row_of(void* begin, std::size_t row, std::size_t bytes) {
  return begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + row * bytes;
}

// How many rows the gradient has.
std::size_t gradient_rows(const Elements& e) {
  if (e.gradient == nullptr) return 0;
  if (e.row_count == 0) return 1;
  if (e.rows != nullptr) return e.row_count;
  return e.slots == nullptr ? 0 : *std::max_element(e.slots, e.slots + e.row_count);
}

// Every row of the table in question as a stretch.
void split(const Elements& table, std::vector<Elements>& rows) {
  const std::size_t bytes = table.count * size_of(table.dtype);
  for (std::size_t i = 0; i < table.row_count; ++i) {
    const std::size_t row = table.rows != nullptr ? table.rows[i] : i;
    const std::size_t slot = table.rows != nullptr    ? i + 1
                             : table.slots != nullptr ? table.slots[i]
                                                      : 0;
    Elements one = table;
    one.row_count = 0;
    one.rows = one.slots = nullptr;
    one.values = row_of(table.values, row, bytes);
    for (void*& moment : one.moments) moment = row_of(moment, row, bytes);
    const auto* gradient = static_cast<const std::byte*>(table.gradient);
    one.gradient = slot == 0 ? nullptr : gradient + (slot - 1) * bytes;
    rows.push_back(one);
  }
}

}  // namespace

void apply_on_cpu(dynet_like::Device& device, std::span<const Elements> all,
                  const std::function<void(std::span<const Elements>)>& apply) {
  std::vector<Copy> changed;
  std::vector<Block> gradients;
  std::vector<Elements> stretches;
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
    e.row_count == 0 ? stretches.push_back(here) : split(here, stretches);
  }
  apply(stretches);
  device.updates().together([&] {
    for (const Copy& copy : changed) device.write(copy.there, copy.here.data(), copy.here.size());
  });
}

}  // namespace dynet::detail
