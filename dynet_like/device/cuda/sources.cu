// Kernels of ops without inputs: constants, and rows of tables.
#include "dynet_like/device/cuda/items.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

template <class T>
__global__ void constants(std::size_t n, unsigned size, const T* reals, Output out) {
  const auto [item, element] = item_element(size);
  if (item < n) output_at<T>(out, item)[element] = reals[item];
}
template <class T>
void constant(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, constants<T>, call.n, size,
              static_cast<const T*>(call.reals), call.out);
}

// -------------------------------------------------------------------------------------- lookup

template <class T>
__global__ void rows_of_table(std::size_t n, unsigned size, Operand table,
                              const std::uint32_t* rows, Output out) {
  const auto [item, element] = item_element(size);
  if (item >= n) return;
  output_at<T>(out, item)[element] = table.at<T>(item)[std::size_t{rows[item]} * size + element];
}
template <class T>
void lookup(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  launch_each(commands_of(call), call.n * size, rows_of_table<T>, call.n, size, call.in[0],
              call.integers, call.out);
}

// For a table that is not a parameter; gradients of parameters are summed row by row elsewhere.
template <class T>
__global__ void table_gradients(std::size_t n, unsigned table, unsigned size, Operand dy,
                                const std::uint32_t* rows, Destination dx) {
  const auto [item, element] = item_element(table);
  if (item >= n) return;
  T* const to = dx.at<T>(item);
  if (to == nullptr) return;
  const bool in_row = element / size == rows[item], add = dx.add[item] != 0;
  if (in_row) put(dy.at<T>(item)[element % size], to + element, add);
  if (!in_row && !add) to[element] = 0;
}
template <class T>
void lookup_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  const unsigned table = call.type->inputs[0].size();
  launch_each(commands_of(call), call.n * table, table_gradients<T>, call.n, table,
              call.type->output_size, call.dy, call.integers, call.dx[0]);
}

}  // namespace

std::span<const KernelEntry> source_kernels() {
  static const KernelEntry table[] = {
      {"constant", {{constant<float>, constant<double>}, {}}},
      {"lookup",
       {{lookup<float>, lookup<double>}, {lookup_backward<float>, lookup_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::cuda
