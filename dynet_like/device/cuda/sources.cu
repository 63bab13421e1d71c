// Kernels of ops without inputs: constants, and rows of tables.
#include "dynet_like/device/cuda/elements.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

struct Constant {
  template <class T>
  __device__ static T value(Place here, const T* reals) {
    return reals[here.item];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Constant, T>(call, static_cast<const T*>(call.reals));
  }
};

// For a table that is not a parameter; gradients of parameters are summed row by row elsewhere.
template <class T>
__global__ void table_gradients(Part part, unsigned size, Operand dy, const std::uint32_t* rows,
                                Destination dx) {
  Place place;
  if (!find_element(part, place)) return;
  const Target<T> target(dx, place.item);
  if (target.to == nullptr) return;
  const bool in_row = place.at / size == rows[place.item];
  if (in_row) target.put(dy.at<T>(place.item)[place.at % size], place.at);
  if (!in_row && !target.add) target.to[place.at] = 0;
}

struct Lookup {
  template <class T>
  __device__ static T value(Place here, std::size_t size, Operand table,
                            const std::uint32_t* rows) {
    return table.at<T>(here.item)[rows[here.item] * size + here.at];
  }
  template <class T>
  static void launch(const ForwardCall& call) {
    launch_values<Lookup, T>(call, call.type->output_size, call.in[0], call.integers);
  }
  template <class T>
  static void launch(const BackwardCall& call) {
    if (!call.dx[0].wanted()) return;
    launch_elements(commands_of(call), call.n, call.type->inputs[0].size(), table_gradients<T>,
                    call.type->output_size, call.dy, call.integers, call.dx[0]);
  }
};

}  // namespace

std::vector<KernelEntry> source_kernels() {
  return {{"constant", kernels<Constant>()}, {"lookup", kernels<Lookup>()}};
}

}  // namespace dynet_like::detail::cuda
