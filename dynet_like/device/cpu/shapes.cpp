// Kernels that move elements: rows of tables, copies, concatenation, ranges, transposition,
// dropout.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dynet_like/device/cpu/kernel_table.h"

namespace dynet_like::cpu {

namespace {

// Writes n elements, or adds them to what is there.
template <class E>
void put(const E* from, E* to, std::size_t n, bool add) {
  if (add) {
    for (std::size_t i = 0; i < n; ++i) to[i] = to[i] + from[i];
  } else {
    std::memcpy(to, from, n * sizeof(E));
  }
}

template <class E>
void constant(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    std::fill_n(static_cast<E*>(call.out) + i * size, size, static_cast<const E*>(call.reals)[i]);
  }
}

template <class E>
void lookup(const ForwardCall& call) {
  constexpr std::size_t kAhead = 8;  // rows are random accesses to memory: ask for them early
  const std::size_t size = call.type->output_size;
  const E* table = call.in[0].at<E>(0);
  const auto row = [&](std::size_t i) { return table + std::size_t{call.integers[i]} * size; };
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    if (i + kAhead < call.n) {
      const char* next = reinterpret_cast<const char*>(row(i + kAhead));
      for (std::size_t at = 0; at < size * sizeof(E); at += 64) __builtin_prefetch(next + at);
    }
    std::memcpy(out + i * size, row(i), size * sizeof(E));
  }
}

// For a table that is no parameter; what parameters get is added up row by row elsewhere.
template <class E>
void lookup_backward(const BackwardCall& call) {
  const std::size_t size = call.type->output_size, table = call.type->inputs[0].size();
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    if (!add) std::memset(to, 0, table * sizeof(E));
    put(call.dy.at<E>(i), to + std::size_t{call.integers[i]} * size, size, add);
  }
}

template <class E>
void identity_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    std::memcpy(static_cast<E*>(call.out) + i * size, call.in[0].at<E>(i), size * sizeof(E));
  }
}

template <class E>
void identity_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to != nullptr) put(call.dy.at<E>(i), to, call.type->output_size, call.dx[0].add[i] != 0);
  }
}

// An item of input j is `outer` blocks of the output, each `inner * n_j` elements long.
template <class E>
void concatenate_forward(const ForwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    std::size_t offset = 0;
    for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
      const std::size_t block = whole.inner * call.type->inputs[j][d];
      const E* from = call.in[j].at<E>(i);
      for (std::size_t o = 0; o < whole.outer; ++o) {
        std::memcpy(out + o * whole.inner * whole.n + offset, from + o * block, block * sizeof(E));
      }
      offset += block;
    }
  }
}

template <class E>
void concatenate_backward(const BackwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  std::size_t offset = 0;
  for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
    const std::size_t block = whole.inner * call.type->inputs[j][d];
    for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
      E* to = call.dx[j].at<E>(i);
      if (to == nullptr) continue;
      const E* dy = call.dy.at<E>(i) + offset;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        put(dy + o * whole.inner * whole.n, to + o * block, block, call.dx[j].add[i] != 0);
      }
    }
    offset += block;
  }
}

template <class E>
void pick_range_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i) + axis.inner * call.integers[i];
    for (std::size_t o = 0; o < axis.outer; ++o, out += length) {
      std::memcpy(out, from + o * axis.inner * axis.n, length * sizeof(E));
    }
  }
}

template <class E>
void pick_range_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  const std::size_t stride = axis.inner * axis.n;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    // A contribution is added whole, its zeros too: -0 + 0 is 0.
    if (add) {
      for (std::size_t e = 0; e < stride * axis.outer; ++e) to[e] = to[e] + E(0);
    } else {
      std::memset(to, 0, stride * axis.outer * sizeof(E));
    }
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o) {
      E* range = to + o * stride + axis.inner * call.integers[i];
      for (std::size_t e = 0; e < length; ++e) range[e] = range[e] + dy[o * length + e];
    }
  }
}

// Where the elements of a transposed item come from, in the order of the output.
std::vector<std::uint32_t> transposed_order(const Signature& type) {
  const Dim& from = type.inputs[0];
  std::size_t stride[Dim::kMaxDimensions], step = 1;
  for (unsigned i = 0; i < Dim::kMaxDimensions; ++i) {
    stride[i] = step;
    step *= from[i];
  }
  std::vector<std::uint32_t> order(type.output_size);
  unsigned at[Dim::kMaxDimensions] = {};
  std::size_t source = 0;
  for (auto& element : order) {
    element = static_cast<std::uint32_t>(source);
    for (unsigned i = 0; i < type.output.nd; ++i) {
      source += stride[type.attributes[i]];
      if (++at[i] < type.output.d[i]) break;
      source -= stride[type.attributes[i]] * type.output.d[i];
      at[i] = 0;
    }
  }
  return order;
}

template <class E>
void transpose_forward(const ForwardCall& call) {
  const std::vector<std::uint32_t> order = transposed_order(*call.type);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i);
    for (std::uint32_t source : order) *out++ = from[source];
  }
}

template <class E>
void transpose_backward(const BackwardCall& call) {
  const std::vector<std::uint32_t> order = transposed_order(*call.type);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const E* dy = call.dy.at<E>(i);
    const bool add = call.dx[0].add[i] != 0;
    for (std::size_t e = 0; e < order.size(); ++e) {
      to[order[e]] = add ? to[order[e]] + dy[e] : dy[e];
    }
  }
}

// y = x * (kept ? scale : 0), and the same for gradients; the mask is computed again, not kept.
// Element e of the node takes word e of the stream that its three integers and the key name.
template <class E>
void drop(RandomKey key, const std::uint32_t* integers, E p, const E* from, E* to, std::size_t n,
          bool add) {
  const RandomStream stream(key, integers[0], integers[1]);
  const E scale = E(1) / (E(1) - p);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t element = integers[2] + i;
    if (i == 0 || element % 4 == 0) words = stream.block(element / 4);
    const bool kept = unit_interval(words[element % 4]) >= p;
    const E value = from[i] * (kept ? scale : E(0));
    to[i] = add ? to[i] + value : value;
  }
}

template <class E>
void dropout_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    drop(call.random, call.integers + 3 * i, static_cast<const E*>(call.reals)[i],
         call.in[0].at<E>(i), static_cast<E*>(call.out) + i * size, size, false);
  }
}

template <class E>
void dropout_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    drop(call.random, call.integers + 3 * i, static_cast<const E*>(call.reals)[i], call.dy.at<E>(i),
         to, call.type->output_size, call.dx[0].add[i] != 0);
  }
}

}  // namespace

std::span<const KernelEntry> shape_kernels() {
  static const KernelEntry table[] = {
      {"constant", {{constant<float>, constant<double>}, {}}},
      {"lookup",
       {{lookup<float>, lookup<double>}, {lookup_backward<float>, lookup_backward<double>}}},
      {"identity",
       {{identity_forward<float>, identity_forward<double>},
        {identity_backward<float>, identity_backward<double>}}},
      {"concatenate",
       {{concatenate_forward<float>, concatenate_forward<double>},
        {concatenate_backward<float>, concatenate_backward<double>}}},
      {"pick_range",
       {{pick_range_forward<float>, pick_range_forward<double>},
        {pick_range_backward<float>, pick_range_backward<double>}}},
      {"transpose",
       {{transpose_forward<float>, transpose_forward<double>},
        {transpose_backward<float>, transpose_backward<double>}}},
      {"dropout",
       {{dropout_forward<float>, dropout_forward<double>},
        {dropout_backward<float>, dropout_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::cpu
