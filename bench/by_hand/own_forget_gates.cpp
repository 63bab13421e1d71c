// Gates and cells, with the widest vectors of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/by_hand/own_forget_gates.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/math-inl.h"

#include "bench/by_hand/own_forget_gates.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::bench::by_hand::HWY_NAMESPACE {

using namespace dynet_like::detail::HWY_NAMESPACE;
using Vector = Lanes<float>;

HWY_INLINE Vector at_node(const void* const* places, std::size_t node, std::size_t at,
                          std::size_t count) {
  return load_as<Vector>(static_cast<const float*>(places[node]) + at, count);
}

void forward_nodes(const OwnForgetForward& nodes) {
  const std::size_t hidden = nodes.hidden;
  for (std::size_t node = 0; node < nodes.count; ++node) {
    const float* sums = nodes.sums + node * 3 * hidden;
    float* h = nodes.states + node * 2 * hidden;
    float* saved = nodes.saved == nullptr ? nullptr : nodes.saved + node * kOwnForgetSaved * hidden;
    for_lanes<float>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
      const Vector i = sigmoid(load_as<Vector>(sums + at, count));
      const Vector o = sigmoid(load_as<Vector>(sums + hidden + at, count));
      const Vector u = tanh(load_as<Vector>(sums + 2 * hidden + at, count));
      const Vector l = sigmoid(load_as<Vector>(nodes.left_sums + node * hidden + at, count));
      const Vector r = sigmoid(load_as<Vector>(nodes.right_sums + node * hidden + at, count));
      const Vector c_left = at_node(nodes.left_c, node, at, count);
      const Vector c_right = at_node(nodes.right_c, node, at, count);
      const Vector c = fused(r, c_right, fused(l, c_left, i * u)), t = tanh(c);
      store(o * t, h + at, count);
      store(c, h + hidden + at, count);
      if (saved == nullptr) return;
      float* to = saved + at;
      for (const Vector& kept : {i, o, u, l, r, t}) {
        store(kept, to, count);
        to += hidden;
      }
    });
  }
}

// With t = tanh c: do = dh t and dc += dh o (1 - t^2); then through the sum and the nonlinearities.
void backward_nodes(const OwnForgetBackward& nodes) {
  const std::size_t hidden = nodes.hidden;
  const Vector one(1);
  for (std::size_t node = 0; node < nodes.count; ++node) {
    const float* saved = nodes.saved + node * kOwnForgetSaved * hidden;
    float* dsums = nodes.dsums + node * 5 * hidden;
    for_lanes<float>(hidden, [&](std::size_t at, std::size_t count) HWY_ATTR {
      const auto kept = [&](std::size_t block) HWY_ATTR {
        return load_as<Vector>(saved + block * hidden + at, count);
      };
      const Vector i = kept(0), o = kept(1), u = kept(2), l = kept(3), r = kept(4), t = kept(5);
      const Vector dh = at_node(nodes.dstates, node, at, count);
      const Vector dc =
          fused(dh * o, one - t * t, at_node(nodes.dstates, node, hidden + at, count));
      const Vector dl = dc * at_node(nodes.left_c, node, at, count) * (l * (one - l));
      const Vector dr = dc * at_node(nodes.right_c, node, at, count) * (r * (one - r));
      float* to = dsums + at;
      for (const Vector& gradient :
           {dc * u * (i * (one - i)), dh * t * (o * (one - o)), dc * i * (one - u * u), dl, dr}) {
        store(gradient, to, count);
        to += hidden;
      }
      store(dc * l, static_cast<float*>(nodes.left_dc[node]) + at, count);
      store(dc * r, static_cast<float*>(nodes.right_dc[node]) + at, count);
    });
  }
}

}  // namespace dynet_like::bench::by_hand::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::bench::by_hand {

HWY_EXPORT(forward_nodes);
HWY_EXPORT(backward_nodes);

void forward(const OwnForgetForward& nodes) { HWY_DYNAMIC_DISPATCH(forward_nodes)(nodes); }
void backward(const OwnForgetBackward& nodes) { HWY_DYNAMIC_DISPATCH(backward_nodes)(nodes); }

}  // namespace dynet_like::bench::by_hand
#endif
