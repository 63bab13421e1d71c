// Kernels on square matrices as a whole, by LU decomposition with partial pivoting.
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/lines.h"

namespace dynet_like::detail {

using cpu::for_gradients;

namespace {

template <class E>
using Matrix = Eigen::Matrix<E, Eigen::Dynamic, Eigen::Dynamic>;

// An aligned copy: otherwise the order of Eigen's sums would depend on the address.
template <class E>
Matrix<E> matrix_at(const E* from, const Signature& type) {
  const unsigned n = type.inputs[0].rows();
  return Eigen::Map<const Matrix<E>>(from, n, n);
}

template <class E>
void put(const Matrix<E>& result, E* to, bool add) {
  for (Eigen::Index e = 0; e < result.size(); ++e) {
    to[e] = add ? to[e] + result.data()[e] : result.data()[e];
  }
}

// A singular matrix has a pivot of 0 and no sign.
template <class E>
E log_determinant(const Matrix<E>& x) {
  constexpr E kInfinity = std::numeric_limits<E>::infinity();
  const Eigen::PartialPivLU<Matrix<E>> lu(x);
  bool negative = lu.permutationP().determinant() < 0;
  E sum = 0;
  for (const E pivot : lu.matrixLU().diagonal()) {
    sum += std::log(std::abs(pivot));
    negative ^= pivot < 0;
  }
  return negative && sum != -kInfinity ? std::numeric_limits<E>::quiet_NaN() : sum;
}

template <class E>
void inverse_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const Matrix<E> y = matrix_at(call.in[0].at<E>(i), *call.type).partialPivLu().inverse();
    put(y, call.out.at<E>(i), false);
  }
}
template <class E>
void inverse_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const Matrix<E> y = matrix_at(call.out.at<E>(i), *call.type);
    const Matrix<E> dy = matrix_at(call.dy.at<E>(i), *call.type);
    const Matrix<E> right = dy * y.transpose(), result = -(y.transpose() * right);
    put(result, dx, add);
  });
}

template <class E>
void logdet_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    *call.out.at<E>(i) = log_determinant(matrix_at(call.in[0].at<E>(i), *call.type));
  }
}
template <class E>
void logdet_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) {
    const Matrix<E> inverse = matrix_at(call.in[0].at<E>(i), *call.type).partialPivLu().inverse();
    const Matrix<E> result = *call.dy.at<E>(i) * inverse.transpose();
    put(result, dx, add);
  });
}

}  // namespace

std::vector<KernelEntry> cpu::matrix_kernels() {
  return {{"inverse", DYNET_LIKE_KERNELS(inverse_forward, inverse_backward)},
          {"logdet", DYNET_LIKE_KERNELS(logdet_forward, logdet_backward)}};
}

}  // namespace dynet_like::detail
