// Makes one kernel call, forward or backward, with packed copies of shared matrices.
#include "dynet_like/exec/run_rows.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"

namespace dynet_like::detail {

namespace {

struct Packable {
  PackedMatrices* copies = nullptr;
  const void* value = nullptr;
  MatrixPlace place = {};
  std::uint64_t version = 0;
};

// Tables have none: postponed updates change rows without a new version.
Packable find_packable(RunState& run, const NodeType& type, unsigned j,
                       const SharedArgument& argument) {
  if (type.shared_gradients[j] != SharedGradient::outer_product) return {};
  if (run.queue->packing(type.signature.dtype) == 0) return {};
  SharedValue& shared = run.shared()[argument.producer];
  if (shared.value == nullptr) return {};
  const Dim& dim = type.signature.inputs[j];
  const MatrixPlace place{argument.offset, dim.rows(), dim.cols()};
  if (shared.parameter == nullptr) {
    return {shared.packed.get(), shared.value, place, shared.pass + 1};
  }
  ParameterStorage& parameter = *shared.parameter;
  if (parameter.is_table) return {};
  if (!parameter.values.is_handed_out()) {
    return {parameter.values.packed.get(), parameter.values.data(), place,
            parameter.values.version()};
  }
  // Somebody may write to its memory between two runs.
  return {shared.packed.get(), shared.value, place, run.common.passes + 1};
}

const void* packed_transpose(RunState& run, const NodeType& type, unsigned j,
                             const SharedArgument& argument) {
  const Packable packable = find_packable(run, type, j, argument);
  if (packable.copies == nullptr) return nullptr;
  return packable.copies->transpose(*run.queue, type.signature.dtype, packable.value,
                                    packable.place, packable.version);
}

void run_forward(RunState& run, const Rows& rows, Kernels::Forward kernel, TypeCount& counts,
                 std::size_t nodes) {
  const KernelTime time(run, counts.seconds, nodes);
  run.queue->forward(kernel, forward_call(rows));
  ++counts.forward_calls;
}

}  // namespace

const void* packed_matrix(RunState& run, const NodeType& type, unsigned j,
                          const SharedArgument& argument, std::size_t n) {
  const Packable packable = find_packable(run, type, j, argument);
  if (packable.copies == nullptr) return nullptr;
  return packable.copies->matrix(*run.queue, type.signature.dtype, packable.value, packable.place,
                                 packable.version, n * type.signature.inputs[j + 1].cols());
}

void forward_rows(RunState& run, const Rows& rows, TypeCount& counts, std::size_t nodes) {
  run_forward(run, rows, rows.kernels->forward[rows.dtype_index()], counts, nodes);
}

void forward_early(RunState& run, const Rows& rows, TypeCount& counts) {
  run_forward(run, rows, rows.kernels->begin[rows.dtype_index()], counts, 0);
}

void backward_rows(RunState& run, Queue& queue, const Rows& rows, const Wanted& wanted,
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
  const Kernels::Backward kernel =
      (wanted.early ? rows.kernels->end : rows.kernels->backward)[rows.dtype_index()];
  if (run.options().verify_batching && call.n > 1 && !wanted.owners.empty()) {
    verify_backward(run, call, kernel, wanted.owners);
  }
  const KernelTime time(run, counts.seconds, wanted.nodes);
  queue.backward(kernel, call);
  ++counts.backward_calls;
}

}  // namespace dynet_like::detail
