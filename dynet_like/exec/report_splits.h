// Types of one op whose nodes could share batches if the program were written in another way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/exec/make_report.h"

namespace dynet_like::detail {

/// What keeps nodes of one op from being of one type.
enum class Difference : std::uint8_t {
  length,     ///< the last dimension, along which the op works
  columns,    ///< the last dimension, of whose columns the op takes each by itself
  shape,      ///< other dimensions
  arguments,  ///< attributes of the op
  inputs,     ///< how many inputs there are
  constants   ///< matrices of constants
};

/// Types of one op, at least two, from small to large.
struct Split {
  Difference difference;
  std::vector<TypeId> types;
  std::uint64_t nodes = 0, batches = 0;
  std::uint64_t lost = 0;  ///< so many batches less would do, at best, if it were one type
  unsigned input = 0;      ///< of a shape that differs
};

/// Most batches lost first. Leaves out what no way of writing brings together: nodes of different
/// parameters, tables or ops, what every sample has (sizes of a model, but not lengths of data),
/// and what no schedule could have put into fewer batches.
std::vector<Split> find_splits(std::span<const RunState* const> runs,
                               std::span<const TypeCount> counts);

/// "input 0 is {16,5}, {16,6} or {16,7}"; of many, the first three and the last.
std::string words_of(const Split& split, const TypeTable& types);

/// What to write instead, a sentence for every cause: "5 lengths (5 to 9) split softmax: ...".
std::vector<std::string> advice(std::span<const Split> splits, const TypeTable& types);

}  // namespace dynet_like::detail
