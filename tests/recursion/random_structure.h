// Random structures for tests: a pure function of a seed.
#pragma once

#include <random>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

/// Vertices, each with some predecessors before it.
struct RandomStructure {
  RandomStructure(std::uint64_t seed, unsigned most_vertices, unsigned kind_count) {
    std::mt19937_64 random(seed);
    const unsigned n = 1 + static_cast<unsigned>(random() % most_vertices);
    const bool is_tree = random() % 3 == 0, each_column_once = random() % 2 == 0;
    std::vector<unsigned> free;
    for (unsigned v = 0; v < n; ++v) {
      std::vector<unsigned> before;
      const unsigned most = v == 0 ? 0 : static_cast<unsigned>(random() % 4);
      for (unsigned p = 0; p < most; ++p) {
        if (!is_tree) before.push_back(static_cast<unsigned>(random() % v));
        if (is_tree && !free.empty()) {
          const std::size_t i = random() % free.size();
          before.push_back(free[i]);
          free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      free.push_back(v);
      const bool reads = before.empty() || random() % 2 == 0;
      columns.push_back(!reads             ? Structure::kNoColumn
                        : each_column_once ? words++
                                           : static_cast<unsigned>(random() % 4));
      kinds.push_back(static_cast<unsigned>(random() % kind_count));
      predecessors.push_back(std::move(before));
    }
    if (!each_column_once) words = 4;
  }

  Structure structure() const {
    std::vector<Structure::Vertex> vertices;
    for (std::size_t v = 0; v < kinds.size(); ++v) {
      vertices.push_back({predecessors[v], columns[v], kinds[v]});
    }
    return Structure(vertices);
  }

  unsigned words = 0;  ///< columns
  std::vector<std::vector<unsigned>> predecessors;
  std::vector<unsigned> columns, kinds;
};

}  // namespace dynet_like::testing
