// The counts of a lane for the report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynet_like::detail {

/// How many nodes of a type ran, and in how many batches.
struct TypeCount {
  bool is_met = false;
  std::uint64_t nodes = 0, items = 0, batches = 0, forward_calls = 0, backward_calls = 0;
  double seconds = 0;

  TypeCount& operator+=(const TypeCount& other) {
    nodes += other.nodes;
    items += other.items;
    batches += other.batches;
    forward_calls += other.forward_calls;
    backward_calls += other.backward_calls;
    seconds += other.seconds;
    return *this;
  }
};

struct RunCounts {
  /// `types`: the number of types.
  TypeCount& type(std::uint32_t type, std::size_t types) {
    if (of_types.size() <= type) of_types.resize(types);
    if (!of_types[type].is_met) {
      met_types.push_back(type);
      of_types[type].is_met = true;
    }
    return of_types[type];
  }

  /// Resets the counts, in time proportional to the types that were met. Allocates nothing.
  void clear() {
    for (const std::uint32_t type : met_types) of_types[type] = {};
    met_types.clear();
    batches = copied_bytes = 0;
    plan_seconds = recursion_flops = 0;
  }

  std::vector<TypeCount> of_types;
  std::vector<std::uint32_t> met_types;
  std::uint64_t batches = 0, copied_bytes = 0;
  double plan_seconds = 0;
  double recursion_flops = 0;  ///< of the products in recursions
};

}  // namespace dynet_like::detail
