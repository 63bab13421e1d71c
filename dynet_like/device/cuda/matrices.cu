// Kernels on square matrices, by LU decomposition with partial pivoting: one block per matrix.
#include "dynet_like/device/cuda/items.h"
#include "dynet_like/device/cuda/kernel_table.h"

namespace dynet_like::detail::cuda {

namespace {

constexpr unsigned kBlock = 128;

template <class... Parameters, class... Arguments>
void launch_blocks(Commands& commands, std::size_t n, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  if (n == 0) return;
  commands.launch_cooperating({launch_size(n), 1, 1, kBlock}, kernel, arguments...);
}

// Calls f(e) for all e below n, shared by the threads of the block, and waits for all threads.
template <class F>
__device__ void for_block(unsigned n, const F& f) {
  for (unsigned e = threadIdx.x; e < n; e += kBlock) f(e);
  __syncthreads();
}

// Scratch memory for one matrix of m rows: its factors, the order of its rows, and another matrix.
template <class T>
struct Decomposition {
  unsigned m;
  T *lu, *other;
  unsigned* order;

  static Decomposition allocate(Commands& commands, std::size_t n, unsigned m) {
    const std::size_t size = n * m * m;
    return {m, commands.elements<T>(size), commands.elements<T>(size),
            commands.elements<unsigned>(n * m)};
  }
  __device__ Decomposition of(std::size_t item) const {
    const std::size_t size = std::size_t{m} * m;
    return {m, lu + item * size, other + item * size, order + item * m};
  }

  /// Decomposes a matrix; returns whether the permutation of rows is odd.
  __device__ bool decompose(const T* from) {
    SHARED_ARRAY(unsigned, pivot, 1);
    bool odd = false;
    for_block(m, [&](unsigned r) { order[r] = r; });
    for_block(m * m, [&](unsigned e) { lu[e] = from[e]; });
    for (unsigned k = 0; k < m; ++k) {
      T* const column = lu + k * m;
      if (threadIdx.x == 0) {
        unsigned best = k;
        for (unsigned r = k + 1; r < m; ++r) {
          if (std::abs(column[r]) > std::abs(column[best])) best = r;
        }
        pivot[0] = best;
      }
      __syncthreads();
      const unsigned p = pivot[0], rest = m - k - 1;
      if (p != k) {
        odd = !odd;
        for_block(m, [&](unsigned c) { swap(lu[c * m + k], lu[c * m + p]); });
        if (threadIdx.x == 0) swap(order[k], order[p]);
      }
      const T divisor = column[k];
      if (divisor != 0) for_block(rest, [&](unsigned r) { column[k + 1 + r] /= divisor; });
      for_block(rest * rest, [&](unsigned e) {
        const unsigned r = k + 1 + e % rest, c = k + 1 + e / rest;
        lu[c * m + r] = std::fma(-column[r], lu[c * m + k], lu[c * m + r]);
      });
    }
    return odd;
  }

  /// Puts the inverse of the decomposed matrix into `other`, row by row: neighbouring threads have
  /// neighbouring columns.
  __device__ void invert() {
    for_block(m, [&](unsigned c) {
      for (unsigned r = 0; r < m; ++r) {
        T sum = order[r] == c ? T(1) : T(0);
        for (unsigned k = 0; k < r; ++k) sum = std::fma(-lu[k * m + r], other[k * m + c], sum);
        other[r * m + c] = sum;
      }
      for (unsigned r = m; r-- > 0;) {
        T sum = other[r * m + c];
        for (unsigned k = r + 1; k < m; ++k) sum = std::fma(-lu[k * m + r], other[k * m + c], sum);
        other[r * m + c] = sum / lu[r * m + r];
      }
    });
  }

 private:
  template <class U>
  __device__ static void swap(U& a, U& b) {
    const U kept = a;
    a = b;
    b = kept;
  }
};

// ------------------------------------------------------------------------------------- inverse

template <class T>
__global__ void inverses(Decomposition<T> scratch, Operand in, Output out) {
  Decomposition<T> x = scratch.of(blockIdx.x);
  const unsigned m = x.m;
  T* const y = output_at<T>(out, blockIdx.x);
  x.decompose(in.at<T>(blockIdx.x));
  x.invert();
  for_block(m * m, [&](unsigned e) { y[e] = x.other[e % m * m + e / m]; });
}
template <class T>
void inverse_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  launch_blocks(commands, call.n, inverses<T>,
                Decomposition<T>::allocate(commands, call.n, call.type->output.rows()), call.in[0],
                call.out);
}

// -y' (dy y')
template <class T>
__global__ void inverse_gradients(unsigned m, T* products, Operand ys, Operand dys,
                                  Destination dx) {
  T* const to = dx.at<T>(blockIdx.x);
  if (to == nullptr) return;
  const T *const y = ys.at<T>(blockIdx.x), *const dy = dys.at<T>(blockIdx.x);
  T* const right = products + std::size_t{blockIdx.x} * m * m;
  for_block(m * m, [&](unsigned e) {
    const unsigned r = e % m, c = e / m;
    T sum = 0;
    for (unsigned k = 0; k < m; ++k) sum = std::fma(dy[k * m + r], y[k * m + c], sum);
    right[e] = sum;
  });
  const bool add = dx.add[blockIdx.x] != 0;
  for_block(m * m, [&](unsigned e) {
    const unsigned r = e % m, c = e / m;
    T sum = 0;
    for (unsigned k = 0; k < m; ++k) sum = std::fma(y[r * m + k], right[c * m + k], sum);
    put(-sum, to + e, add);
  });
}
template <class T>
void inverse_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  Commands& commands = commands_of(call);
  T* const products = commands.elements<T>(call.n * call.type->output_size);
  launch_blocks(commands, call.n, inverse_gradients<T>, call.type->output.rows(), products,
                call.out, call.dy, call.dx[0]);
}

// -------------------------------------------------------------------------------------- logdet

// A singular matrix has a pivot of 0 and no sign.
template <class T>
__global__ void log_determinants(Decomposition<T> scratch, Operand in, Output out) {
  Decomposition<T> x = scratch.of(blockIdx.x);
  bool negative = x.decompose(in.at<T>(blockIdx.x));
  if (threadIdx.x > 0) return;
  T sum = 0;
  for (unsigned k = 0; k < x.m; ++k) {
    const T pivot = x.lu[k * x.m + k];
    sum = sum + std::log(std::abs(pivot));
    negative ^= pivot < 0;
  }
  const bool singular = std::isinf(sum) && sum < 0;
  *output_at<T>(out, blockIdx.x) =
      negative && !singular ? std::numeric_limits<T>::quiet_NaN() : sum;
}
template <class T>
void logdet_forward(const ForwardCall& call) {
  Commands& commands = commands_of(call);
  launch_blocks(commands, call.n, log_determinants<T>,
                Decomposition<T>::allocate(commands, call.n, call.type->inputs[0].rows()),
                call.in[0], call.out);
}

// dy times the transpose of the inverse.
template <class T>
__global__ void logdet_gradients(Decomposition<T> scratch, Operand in, Operand dy, Destination dx) {
  T* const to = dx.at<T>(blockIdx.x);
  if (to == nullptr) return;
  Decomposition<T> x = scratch.of(blockIdx.x);
  x.decompose(in.at<T>(blockIdx.x));
  x.invert();
  const T g = *dy.at<T>(blockIdx.x);
  const bool add = dx.add[blockIdx.x] != 0;
  for_block(x.m * x.m, [&](unsigned e) { put(g * x.other[e], to + e, add); });
}
template <class T>
void logdet_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  Commands& commands = commands_of(call);
  launch_blocks(commands, call.n, logdet_gradients<T>,
                Decomposition<T>::allocate(commands, call.n, call.type->inputs[0].rows()),
                call.in[0], call.dy, call.dx[0]);
}

}  // namespace

std::vector<KernelEntry> matrix_kernels() {
  return {{"inverse", DYNET_LIKE_KERNELS(inverse_forward, inverse_backward)},
          {"logdet", DYNET_LIKE_KERNELS(logdet_forward, logdet_backward)}};
}

}  // namespace dynet_like::detail::cuda
