// FormulaOp: from a user's formula to an op and its nodes.
#include "dynet_like/graph/formula_op.h"

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/graph/recording.h"

namespace dynet_like {

FormulaOp::FormulaOp(std::string name, const detail::FormulaWriter& writer) {
  ops::Formula formula = ops::record_formula(name, writer.inputs, [&](std::span<const Term> terms) {
    return std::vector<Term>{writer.write(terms)};
  });
  if (formula.slots() > ops::FormulaSteps::kMostSlots) {
    throw UsageError("[" + name + "] need a formula of at most " +
                     detail::counted(ops::FormulaSteps::kMostSlots, "number") + " at once; got " +
                     std::to_string(formula.slots()) + ": make two ops of it");
  }
  op_ = detail::make_formula_op(std::move(name), std::move(formula));
}

Expression FormulaOp::node(std::initializer_list<Expression> inputs) const {
  const std::span<const Expression> all(inputs.begin(), inputs.size());
  const detail::recording::Recorder graph = detail::recording::graph_of(op_->name, all);
  graph.writer().keep(op_);
  return graph.expression(graph.writer().add(*op_, detail::recording::Values(graph, all).all()));
}

}  // namespace dynet_like
