// Decides which matrices have packed copies, and where these are kept.
#include "dynet_like/exec/packing.h"

namespace dynet_like::detail {

namespace {

struct Packable {
  PackedMatrices* copies = nullptr;
  const void* value = nullptr;
  MatrixPlace place = {};
  std::uint64_t version = 0;
};

// Tables have none: postponed updates change rows without a new version.
Packable packable(RunState& run, const NodeType& type, unsigned j, const SharedArgument& argument) {
  if (type.shared_gradients[j] != SharedGradient::outer_product) return {};
  if (run.queue->packing(type.signature.dtype) == 0) return {};
  SharedValue& shared = run.shared()[argument.producer];
  if (shared.value == nullptr) return {};
  const Dim& dim = type.signature.inputs[j];
  const MatrixPlace place{argument.offset, dim.rows(), dim.cols()};
  if (shared.parameter == nullptr) {
    return {shared.packed.get(), shared.value, place, shared.run + 1};
  }
  ParameterStorage& parameter = *shared.parameter;
  if (parameter.is_table) return {};
  if (!parameter.values.is_handed_out()) {
    return {parameter.values.packed.get(), parameter.values.data(), place,
            parameter.values.version()};
  }
  // Somebody may write to its memory between two runs.
  return {shared.packed.get(), shared.value, place, run.common.runs + 1};
}

}  // namespace

const void* packed_matrix(RunState& run, const NodeType& type, unsigned j,
                          const SharedArgument& argument, std::size_t n) {
  const Packable packable = detail::packable(run, type, j, argument);
  if (packable.copies == nullptr) return nullptr;
  return packable.copies->matrix(*run.queue, type.signature.dtype, packable.value, packable.place,
                                 packable.version, n * type.signature.inputs[j + 1].cols());
}

const void* packed_transpose(RunState& run, const NodeType& type, unsigned j,
                             const SharedArgument& argument) {
  const Packable packable = detail::packable(run, type, j, argument);
  if (packable.copies == nullptr) return nullptr;
  return packable.copies->transpose(*run.queue, type.signature.dtype, packable.value,
                                    packable.place, packable.version);
}

}  // namespace dynet_like::detail
