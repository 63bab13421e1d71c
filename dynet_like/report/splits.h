// Nodes of one op that could share batches if the program were written in another way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

/// What keeps nodes of one op from being of one type.
enum class Difference : std::uint8_t {
  length,      ///< the last dimension, along which the op works
  columns,     ///< the last dimension, of whose columns the op takes each by itself
  shape,       ///< other dimensions
  arguments,   ///< attributes of the op
  inputs,      ///< how many inputs there are
  constants,   ///< matrices of constants
  parameters,  ///< parameters, tables, or what follows from these alone
  depth,       ///< where in their graphs the nodes of one type are
  call         ///< in which calls of the program they ran
};

/// Types of one op, from small to large; at least two, or one whose nodes ran apart.
struct Split {
  Difference difference = Difference::length;
  std::vector<TypeId> types;
  unsigned input = 0;       ///< the one that differs
  std::string words;        ///< "input 0 is {16,5}, {16,6} or {16,7}"
  std::uint64_t bound = 0;  ///< so few batches would do, at best, if they did not differ
};

/// What the recorded nodes tell of a type.
struct Seen {
  NodeRef example;            ///< its first node
  std::uint32_t samples = 0;  ///< that have such nodes
  std::uint32_t last_sample = kNone;
};

struct Recorded {
  std::vector<Seen> of_types;
  std::uint32_t samples = 0;
};

/// Types that differ. Leaves out what no way of writing brings together: nodes of different ops,
/// and what every sample has (sizes of a model, but not lengths of data).
std::vector<Split> find_splits(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts);

/// Types of no such split whose nodes took at least twice as many batches as they need.
std::vector<Split> find_delays(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts,
                               std::span<const std::uint64_t> bounds);

/// "5, 6 or 7"; of many, the first three and the last: "5, 6, 7, ... or 36". No value twice.
std::string listed(std::vector<std::string> values);

/// What to write instead.
std::string advice(const Split& split, const RunState& run);

}  // namespace dynet_like::detail
