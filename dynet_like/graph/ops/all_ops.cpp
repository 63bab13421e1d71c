// The op table: the ops of every file of this folder, then those of the formulas.
#include "dynet_like/ops/families.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::ops {

using List = std::span<const Op* const>;
#define DECLARE(family) List family##_ops();
DYNET_LIKE_OP_FAMILIES(DECLARE)
#undef DECLARE

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> table = [] {
    std::vector<const Op*> all;
#define CALL(family) family##_ops(),
    for (const List list : {DYNET_LIKE_OP_FAMILIES(CALL)}) {
#undef CALL
      all.insert(all.end(), list.begin(), list.end());
    }
    formulas::visit_all([&]<class F>() { all.push_back(&elementwise<F>); });
    return all;
  }();
  return table;
}

}  // namespace dynet_like::ops
