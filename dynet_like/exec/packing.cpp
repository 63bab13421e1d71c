// Which matrices have packed copies, and where these are kept.
#include "dynet_like/exec/packing.h"

namespace dynet_like::detail {

namespace {

struct Packable {
  PackedMatrices* copies = nullptr;
  const void* value = nullptr;
  MatrixPlace place = {};
  std::uint64_t version = 0;
};

// Tables have none: rows that wait for an update change without a new version.
Packable packable(RunState& run, const SharedMatrix& matrix) {
  if (matrix.type->shared_gradients[matrix.input] != SharedGradient::outer_product) return {};
  if (run.queue->packing(matrix.type->signature.dtype) == 0) return {};
  SharedValue& shared = run.shared[matrix.producer];
  if (shared.value == nullptr) return {};
  const Dim& dim = matrix.type->signature.inputs[matrix.input];
  const MatrixPlace place{matrix.value->offset, dim.rows(), dim.cols()};
  if (shared.parameter == nullptr) {
    return {shared.packed.get(), shared.value, place, shared.run + 1};
  }
  ParameterStorage& parameter = *shared.parameter;
  if (parameter.is_table) return {};
  if (!parameter.values.is_handed_out()) {
    return {parameter.values.packed.get(), parameter.values.data(), place,
            parameter.values.version()};
  }
  // Its memory may be written to between two runs.
  return {shared.packed.get(), shared.value, place, run.common.runs + 1};
}

}  // namespace

SharedMatrix shared_matrix(const RunState& run, const NodeType& type, NodeRef example, unsigned j) {
  const Tape& tape = run.tape(example);
  const Value& value = tape.value(tape.inputs_of(example.node)[j]);
  return {&type, j, &value, run.identity_of({example.tape, value.node})};
}

const void* packed_matrix(RunState& run, const SharedMatrix& matrix, std::size_t n) {
  const Packable packable = detail::packable(run, matrix);
  if (packable.copies == nullptr) return nullptr;
  const Signature& signature = matrix.type->signature;
  return packable.copies->matrix(*run.queue, signature.dtype, packable.value, packable.place,
                                 packable.version, n * signature.inputs[matrix.input + 1].cols());
}

const void* packed_transpose(RunState& run, const SharedMatrix& matrix) {
  const Packable packable = detail::packable(run, matrix);
  if (packable.copies == nullptr) return nullptr;
  return packable.copies->transpose(*run.queue, matrix.type->signature.dtype, packable.value,
                                    packable.place, packable.version);
}

}  // namespace dynet_like::detail
