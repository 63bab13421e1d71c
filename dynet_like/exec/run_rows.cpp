// Makes one kernel call, forward or backward.
#include "dynet_like/exec/run_rows.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/packing.h"

namespace dynet_like::detail {

void run_forward(RunState& run, const Rows& rows, double& seconds, std::size_t nodes) {
  const KernelTime time(run, seconds, nodes);
  const auto dtype = static_cast<int>(rows.signature().dtype);
  run.queue->forward(rows.kernels->forward[dtype], forward_call(rows));
}

void run_early(RunState& run, const Rows& rows, double& seconds) {
  const KernelTime time(run, seconds, 0);
  const auto dtype = static_cast<int>(rows.signature().dtype);
  run.queue->forward(rows.kernels->begin[dtype], forward_call(rows));
}

void run_backward(RunState& run, Queue& queue, const Rows& rows, const Wanted& wanted,
                  TypeCount& counts, Arena& lists) {
  const NodeType& type = *rows.type;
  const Destination* const dx = wanted.dx;
  const bool any = std::any_of(dx, dx + type.inputs, [](const auto& to) { return to.wanted(); });
  if (!any && rows.deferred == nullptr) return;
  BackwardCall call = backward_call(rows, wanted.items, dx, lists);
  auto* const in = const_cast<Operand*>(call.in);
  for (unsigned j = 0; in != nullptr && j + 1 < type.inputs; ++j) {
    if (in[j].shared == nullptr || !dx[j + 1].wanted()) continue;
    in[j].packed = packed_transpose(run, type, j, rows.arguments[j]);
  }
  const Kernels& kernels = *rows.kernels;
  const Kernels::Backward kernel =
      (wanted.early ? kernels.end : kernels.backward)[static_cast<int>(type.signature.dtype)];
  if (run.options().verify_batching && call.n > 1 && !wanted.owners.empty()) {
    verify_backward(run, call, kernel, wanted.owners);
  }
  const KernelTime time(run, counts.seconds, wanted.nodes);
  queue.backward(kernel, call);
  ++counts.backward_calls;
}

}  // namespace dynet_like::detail
