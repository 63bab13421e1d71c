// How elementwise kernels loop over items. Consecutive items are treated as one range of elements;
// an item with stretched dimensions of size 1 is computed run by run.
#include <algorithm>
#include <cstring>

#include "dynet_like/device/cpu/element_functions.h"

namespace dynet_like::detail::cpu {
namespace {

constexpr std::size_t kBlock = 256;  // elements that stay in the L1 cache

// Whether an input has fewer elements than the output.
bool stretches(const Signature& type) {
  for (const Dim& dim : type.inputs) {
    if (dim.size() != type.output_size) return true;
  }
  return false;
}

/// A stretched item as `count` runs of `length` output elements. In a run an operand either
/// advances with the output or stays at one element; `next` moves to the operands' next run.
struct Runs {
  std::size_t length = 1, count = 1;
  bool advances[2] = {true, true};
  std::size_t offset[2] = {0, 0};

  explicit Runs(const Signature& type);
  void next() {
    for (unsigned i = 0; i < outer_count_; ++i) {
      for (unsigned j = 0; j < 2; ++j) offset[j] += stride_[j][i];
      if (++at_[i] < outer_[i]) return;
      for (unsigned j = 0; j < 2; ++j) offset[j] -= stride_[j][i] * outer_[i];
      at_[i] = 0;
    }
  }

 private:
  std::size_t outer_[Dim::kMaxDimensions] = {}, at_[Dim::kMaxDimensions] = {};
  std::size_t stride_[2][Dim::kMaxDimensions] = {};
  unsigned outer_count_ = 0;
};

Runs::Runs(const Signature& type) {
  unsigned d = 0;
  for (unsigned j = 0; j < 2; ++j) {
    advances[j] = type.inputs[j].size() == type.output_size || type.inputs[j][0] == type.output[0];
  }
  // The inner run: the leading dimensions along which each operand always advances or always stays.
  std::size_t inner[2] = {1, 1};
  for (; d < type.output.nd; ++d) {
    bool same = true;
    for (unsigned j = 0; j < 2; ++j) {
      same = same && type.inputs[j][d] == (advances[j] ? type.output.d[d] : 1);
    }
    if (!same) break;
    length *= type.output.d[d];
    for (unsigned j = 0; j < 2; ++j) inner[j] *= type.inputs[j][d];
  }
  for (; d < type.output.nd; ++d) {
    outer_[outer_count_] = type.output.d[d];
    count *= type.output.d[d];
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned size = type.inputs[j][d];
      stride_[j][outer_count_] = size == 1 ? 0 : inner[j];
      inner[j] *= size;
    }
    ++outer_count_;
  }
}

// Whether item i + 1 has the same real number as item i (-0 is not 0).
template <class E>
bool same_real(const void* reals, std::size_t i) {
  const E* real = static_cast<const E*>(reals) + i;
  return std::memcmp(real, real + 1, sizeof(E)) == 0;
}

template <class E>
void add_or_copy(const E* from, E* to, std::size_t n, bool add) {
  if (!add) {
    std::copy_n(from, n, to);
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
  }
}

// Sums in an order that does not depend on the instruction set.
template <class E>
E sum_of(const E* x, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  E part[kLanes] = {}, total = 0;
  std::size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) part[k] += x[at + k];
  }
  for (std::size_t k = 0; at < n; ++k, ++at) part[k] += x[at];
  for (const E value : part) total += value;
  return total;
}

template <class E>
const E* moved(const E* from, std::size_t elements) {
  return from == nullptr ? nullptr : from + elements;
}

/// A part of one run: the formula's inputs, the index of its first element in the output and in
/// each operand, and its size.
template <class E>
struct Piece {
  FormulaInputs<E> in;
  std::size_t at, operand_at[2], size;
};

/// Loops over an item run by run. An operand that stays at one element is read from copies.
template <class E>
class Stretched {
 public:
  Stretched(const Signature& type, Workspace& workspace)
      : first_(type),
        most_(advances(0) && advances(1) ? first_.length : std::min(kBlock, first_.length)) {
    for (unsigned j = 0; j < 2; ++j) {
      if (!advances(j)) copies_[j] = workspace.elements<E>(most_);
    }
  }

  bool advances(unsigned operand) const { return first_.advances[operand]; }
  std::size_t most() const { return most_; }  ///< the largest size of a piece

  template <class F>
  void for_each_piece(const FormulaInputs<E>& item, const F& f) const {
    Runs runs = first_;
    for (std::size_t run = 0; run < runs.count; ++run, runs.next()) {
      const E* a = operand(0, moved(item.a, runs.offset[0]));
      const E* b = operand(1, moved(item.b, runs.offset[1]));
      for (std::size_t in_run = 0; in_run < runs.length; in_run += most_) {
        const std::size_t at = run * runs.length + in_run;
        const std::size_t at_a = advances(0) ? in_run : 0, at_b = advances(1) ? in_run : 0;
        f(Piece<E>{{moved(a, at_a), moved(b, at_b), moved(item.y, at), moved(item.dy, at)},
                   at,
                   {runs.offset[0] + at_a, runs.offset[1] + at_b},
                   std::min(most_, runs.length - in_run)});
      }
    }
  }

 private:
  const E* operand(unsigned j, const E* first) const {
    if (first == nullptr || advances(j)) return first;
    std::fill_n(copies_[j], most_, *first);
    return copies_[j];
  }

  Runs first_;
  std::size_t most_;
  E* copies_[2] = {};
};

template <class E>
void stretched_forward(const ForwardCall& call, const ElementFunctions<E>& functions) {
  const Stretched<E> runs(*call.type, *call.workspace);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const out = call.out.at<E>(i);
    runs.for_each_piece({call.in[0].at<E>(i), call.in[1].at<E>(i)}, [&](const Piece<E>& piece) {
      functions.value(piece.in, out + piece.at, piece.size);
    });
  }
}

/// The inputs for the gradients of item i.
template <class E>
FormulaInputs<E> inputs_of(const BackwardCall& call, std::size_t i) {
  const Op& op = *call.type->op;
  FormulaInputs<E> in;
  in.dy = call.dy.at<E>(i);
  if (op.needs_output()) in.y = call.out.at<E>(i);
  if (op.needs_inputs()) in.a = call.in[0].at<E>(i);
  if (op.needs_inputs() && op.max_inputs == 2) in.b = call.in[1].at<E>(i);
  if (op.numbers.reals == 1) in.real = static_cast<const E*>(call.reals)[i];
  return in;
}

// A stretched operand gets the sum over the elements that it was stretched to, in a fixed order.
template <class E>
void stretched_gradient(const BackwardCall& call, const ElementFunctions<E>& functions,
                        unsigned j) {
  const Stretched<E> runs(*call.type, *call.workspace);
  const std::size_t size = call.type->inputs[j].size();
  const bool is_sum = size != call.type->output_size;
  E* const sums = is_sum ? call.workspace->elements<E>(size) : nullptr;
  E* const terms = runs.advances(j) ? nullptr : call.workspace->elements<E>(runs.most());
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const dx = call.dx[j].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[j].add[i] != 0;
    if (is_sum) std::fill_n(sums, size, E(0));
    runs.for_each_piece(inputs_of<E>(call, i), [&](const Piece<E>& piece) {
      if (!is_sum) {
        functions.gradient[j](piece.in, dx + piece.at, piece.size, add);
      } else if (runs.advances(j)) {
        functions.gradient[j](piece.in, sums + piece.operand_at[j], piece.size, true);
      } else {
        functions.gradient[j](piece.in, terms, piece.size, false);
        sums[piece.operand_at[j]] += sum_of(terms, piece.size);
      }
    });
    if (is_sum) add_or_copy(sums, dx, size, add);
  }
}

// Whether the next item's gradients follow directly on those of this item.
template <class E>
bool all_go_on(const BackwardCall& call, const Destination& dx, std::size_t i, std::size_t size) {
  const Op& op = *call.type->op;
  if (!goes_on<E>(dx, i, size) || !goes_on<E>(call.dy, i, size)) return false;
  if (op.numbers.reals == 1 && !same_real<E>(call.reals, i)) return false;
  if (op.needs_output() && !goes_on<E>(call.out, i, size)) return false;
  if (!op.needs_inputs()) return true;
  return goes_on<E>(call.in[0], i, size) && (op.max_inputs == 1 || goes_on<E>(call.in[1], i, size));
}

template <class E>
void gradient(const BackwardCall& call, const ElementFunctions<E>& functions, unsigned j) {
  const Destination& dx = call.dx[j];
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0, end; i < call.n; i = end) {
    end = i + 1;
    if (dx.at<E>(i) == nullptr) continue;
    while (end < call.n && all_go_on<E>(call, dx, end - 1, size)) ++end;
    functions.gradient[j](inputs_of<E>(call, i), dx.at<E>(i), (end - i) * size, dx.add[i] != 0);
  }
}

}  // namespace

template <class E>
void elementwise_forward(const ForwardCall& call, const ElementFunctions<E>& functions) {
  const Op& op = *call.type->op;
  const bool binary = op.max_inputs == 2, has_real = op.numbers.reals == 1;
  if (binary && stretches(*call.type)) return stretched_forward(call, functions);
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0, end; i < call.n; i = end) {
    for (end = i + 1; end < call.n; ++end) {
      if (!goes_on<E>(call.in[0], end - 1, size) || !goes_on<E>(call.out, end - 1, size)) break;
      if (binary && !goes_on<E>(call.in[1], end - 1, size)) break;
      if (has_real && !same_real<E>(call.reals, end - 1)) break;
    }
    FormulaInputs<E> in{call.in[0].at<E>(i)};
    if (binary) in.b = call.in[1].at<E>(i);
    if (has_real) in.real = static_cast<const E*>(call.reals)[i];
    functions.value(in, call.out.at<E>(i), (end - i) * size);
  }
}

template <class E>
void elementwise_backward(const BackwardCall& call, const ElementFunctions<E>& functions) {
  const unsigned inputs = call.type->op->max_inputs;
  const bool stretched = inputs == 2 && stretches(*call.type);
  for (unsigned j = 0; j < inputs; ++j) {
    if (!call.dx[j].wanted()) continue;
    stretched ? stretched_gradient(call, functions, j) : gradient(call, functions, j);
  }
}

template void elementwise_forward(const ForwardCall&, const ElementFunctions<float>&);
template void elementwise_forward(const ForwardCall&, const ElementFunctions<double>&);
template void elementwise_backward(const BackwardCall&, const ElementFunctions<float>&);
template void elementwise_backward(const BackwardCall&, const ElementFunctions<double>&);

}  // namespace dynet_like::detail::cpu
