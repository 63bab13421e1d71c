// DyNet's nodes-select.h. Parts of a tensor, as node classes for add_function.
#pragma once

#include <concepts>
#include <vector>

#include "dynet/function-node.h"

namespace dynet {

struct SelectRows : detail::FunctionNode {
  template <detail::Integers Rows>
  explicit SelectRows(const Rows& rows)
      : FunctionNode(
            1, [=](const Arguments& xs) { return select_rows(xs[0], detail::integers(rows)); }) {}
};
struct SelectCols : detail::FunctionNode {
  template <detail::Integers Columns>
  explicit SelectCols(const Columns& columns)
      : FunctionNode(
            1, [=](const Arguments& xs) { return select_cols(xs[0], detail::integers(columns)); }) {
  }
};
struct PickElement : detail::FunctionNode {
  template <detail::Integers Index>
  explicit PickElement(const Index& v, unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return pick(xs[0], detail::integers(v), d); }) {}
};
struct PickRange : detail::FunctionNode {
  PickRange(unsigned start, unsigned end, unsigned d = 0)
      : FunctionNode(1, [=](const Arguments& xs) { return pick_range(xs[0], start, end, d); }) {}
};
struct PickBatchElements : detail::FunctionNode {
  template <detail::Integers Index>
  explicit PickBatchElements(const Index& v)
      : FunctionNode(1, [=](const Arguments& xs) {
          if constexpr (std::integral<Index>) {
            return pick_batch_elem(xs[0], detail::integers(v));
          } else {
            return pick_batch_elems(xs[0], detail::integers(v));
          }
        }) {}
};
struct StridedSelect : detail::FunctionNode {
  explicit StridedSelect(const std::vector<int>& strides, const std::vector<int>& from = {},
                         const std::vector<int>& to = {})
      : FunctionNode(
            1, [=](const Arguments& xs) { return strided_select(xs[0], strides, from, to); }) {}
};

}  // namespace dynet
