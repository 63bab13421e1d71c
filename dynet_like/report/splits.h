// Nodes of one op that could share batches if the program were written in another way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

/// The respect in which nodes of one op differ, so that they are not of one type.
enum class Difference : std::uint8_t {
  length,      ///< the last dimension, and the op works along it
  columns,     ///< the last dimension, and the op treats each column by itself
  shape,       ///< other dimensions
  arguments,   ///< attributes of the op
  inputs,      ///< the number of inputs
  constants,   ///< matrices of constants
  parameters,  ///< parameters, tables, or values of these alone
  depth,       ///< nodes of one type are at different depths of their graphs
  call         ///< nodes of one type ran in different calls of the program
};

/// Types of one op, from small to large: at least two, or a single one whose nodes ran apart.
struct Split {
  Difference difference = Difference::length;
  std::vector<TypeId> types;
  unsigned input = 0;       ///< the input that differs
  std::string words;        ///< "input 0 is {16,5}, {16,6} or {16,7}"
  std::uint64_t bound = 0;  ///< the fewest batches that would do if they did not differ
};

/// What is known of a type from the recorded nodes.
struct Seen {
  NodeRef example;            ///< its first node
  std::uint32_t samples = 0;  ///< samples that have such nodes
  std::uint32_t last_sample = kNone;
};

struct Recorded {
  std::vector<Seen> of_types;
  std::uint32_t samples = 0;
};

/// Types that differ in one respect. Leaves out what no other program could bring together: nodes
/// of different ops, and types that every sample has (sizes of a model, but not lengths of data).
std::vector<Split> find_splits(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts);

/// Types outside of these splits whose nodes took at least twice as many batches as they need.
std::vector<Split> find_delays(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts,
                               std::span<const std::uint64_t> bounds);

/// "5, 6 or 7"; of many, the first three and the last: "5, 6, 7, ... or 36". Each value once.
std::string listed(std::vector<std::string> values);

/// What to write instead.
std::string advice(const Split& split, const RunState& run);

}  // namespace dynet_like::detail
