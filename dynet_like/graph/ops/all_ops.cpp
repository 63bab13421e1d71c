// The op table: the ops of every file of this folder, then those of the formulas.
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like {

namespace ops {

using List = std::span<const Op* const>;
List source_ops(), product_ops(), inner_product_ops(), matrix_ops(), cell_ops(), attention_ops(),
    reduction_ops(), dimension_ops(), norm_ops(), selection_ops(), softmax_ops(), projection_ops(),
    loss_ops(), shape_ops(), random_ops();

}  // namespace ops

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> table = [] {
    using namespace ops;
    std::vector<const Op*> all;
    for (const List list :
         {source_ops(), product_ops(), inner_product_ops(), matrix_ops(), cell_ops(),
          attention_ops(), reduction_ops(), dimension_ops(), norm_ops(), selection_ops(),
          softmax_ops(), projection_ops(), loss_ops(), shape_ops(), random_ops()}) {
      all.insert(all.end(), list.begin(), list.end());
    }
    formulas::visit_all([&]<class F>() { all.push_back(&elementwise<F>); });
    return all;
  }();
  return table;
}

}  // namespace dynet_like
