// The cell whose forget gates read only their own child.
#include <algorithm>

#include "bench/by_hand/own_forget_gates.h"
#include "bench/by_hand/parameters.h"
#include "bench/by_hand/tree_cells.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

Places both(const Places& left, const Places& right) {
  Places all = left;
  all.insert(all.end(), right.begin(), right.end());
  return all;
}

class OwnForgetCell : public InnerCell {
 public:
  OwnForgetCell(Queue& queue, Workload& model)
      : left_(weight_of(queue, model, "/tree_lstm/U_left")),
        right_(weight_of(queue, model, "/tree_lstm/U_right")),
        bias_(weight_of(queue, model, "/tree_lstm/b")),
        forget_(weight_of(queue, model, "/tree_lstm/forget/W")),
        forget_bias_(weight_of(queue, model, "/tree_lstm/forget/b")),
        hidden_(left_.dim().cols()),
        layer_(queue, ops::affine_transform,
               {bias_.dim(), left_.dim(), Dim({hidden_}), right_.dim(), Dim({hidden_})}),
        forget_layer_(queue, ops::affine_transform,
                      {forget_bias_.dim(), forget_.dim(), Dim({hidden_})}),
        sums_(at_a_time() * 5 * hidden_) {}

  void allocate(Arena& arena, std::size_t nodes, bool train) override {
    saved_ = train ? arena.allocate_array<float>(nodes * kOwnForgetSaved * hidden_) : nullptr;
    dsums_ = train ? arena.allocate_array<float>(nodes * 5 * hidden_) : nullptr;
  }

  void forward(const InnerNodes& nodes, float* states) override {
    for (std::size_t begin = 0; begin < nodes.count; begin += at_a_time()) {
      const std::size_t n = std::min(at_a_time(), nodes.count - begin);
      forward_some(nodes, begin, n, states + begin * 2 * hidden_);
    }
  }

  void backward(const InnerNodes& nodes, const InnerGradients& gradients) override {
    backward_gates(nodes, gradients);
    const std::size_t end = nodes.first + nodes.count;
    const GradientPlaces left_dh(gradients.left_dh, true), right_dh(gradients.right_dh, true);
    const Operand in[] = {bias_.operand(),
                          left_.transposed(),
                          {nodes.left_h.data()},
                          right_.transposed(),
                          {nodes.right_h.data()}};
    const Destination dx[] = {{}, {}, left_dh.destination(), {}, right_dh.destination()};
    layer_.backward(in, dsums(nodes.first, end, 0), dx);

    const Places children = both(nodes.left_h, nodes.right_h);
    const GradientPlaces dh(both(gradients.left_dh, gradients.right_dh), true);
    const Operand forget_in[] = {forget_bias_.operand(), forget_.transposed(), {children.data()}};
    const Destination forget_dx[] = {{}, {}, dh.destination()};
    forget_layer_.backward(forget_in, both(dsums(nodes.first, end, 3), dsums(nodes.first, end, 4)),
                           forget_dx);
  }

  void set_weight_gradients(const InnerNodes& all) override {
    const Places sums = dsums(0, all.count, 0);
    left_.set_gradient(sums, all.left_h);
    right_.set_gradient(sums, all.right_h);
    bias_.set_gradient(sums);
    const Places forget = both(dsums(0, all.count, 3), dsums(0, all.count, 4));
    forget_.set_gradient(forget, both(all.left_h, all.right_h));
    forget_bias_.set_gradient(forget);
  }

  std::vector<Weight*> weights() override {
    return {&left_, &right_, &bias_, &forget_, &forget_bias_};
  }
  double product_flops() const override {
    return left_.flops() + right_.flops() + 2 * forget_.flops();
  }
  Weight& bias() override { return bias_; }
  std::size_t leaf_row() const override { return 0; }

 private:
  // The number of nodes whose sums leave room for the weights in the second-level cache.
  std::size_t at_a_time() const {
    constexpr std::size_t kSumBytes = std::size_t{192} << 10;
    return std::max(kSumBytes / (5 * hidden_ * sizeof(float)), std::size_t{24});
  }

  // The gradients of a gate's sums: 0 for i, o, u; 3 and 4 for the forget gates.
  Places dsums(std::size_t begin, std::size_t end, std::size_t gate) const {
    return places(begin, end, [&](std::size_t v) { return dsums_ + (v * 5 + gate) * hidden_; });
  }

  // Runs `n` of the nodes, from `begin` on.
  void forward_some(const InnerNodes& nodes, std::size_t begin, std::size_t n, float* states) {
    const auto* left_h = nodes.left_h.data() + begin;
    const auto* right_h = nodes.right_h.data() + begin;
    float *left_sums = sums_.data() + n * 3 * hidden_, *right_sums = left_sums + n * hidden_;
    const Operand in[] = {bias_.operand(), left_.operand(), {left_h}, right_.operand(), {right_h}};
    layer_.forward(n, in, sums_.data(), nullptr);
    const Places children = both(Places(left_h, left_h + n), Places(right_h, right_h + n));
    const Operand forget_in[] = {forget_bias_.operand(), forget_.operand(), {children.data()}};
    forget_layer_.forward(2 * n, forget_in, left_sums, nullptr);
    float* saved =
        saved_ == nullptr ? nullptr : saved_ + (nodes.first + begin) * kOwnForgetSaved * hidden_;
    by_hand::forward({hidden_, n, sums_.data(), left_sums, right_sums, nodes.left_c.data() + begin,
                      nodes.right_c.data() + begin, states, saved});
  }

  void backward_gates(const InnerNodes& nodes, const InnerGradients& gradients) {
    const GradientPlaces left_dc(gradients.left_dc, false), right_dc(gradients.right_dc, false);
    by_hand::backward({hidden_, nodes.count, gradients.dstates.data(), nodes.left_c.data(),
                       nodes.right_c.data(), saved_ + nodes.first * kOwnForgetSaved * hidden_,
                       dsums_ + nodes.first * 5 * hidden_, left_dc.items(), right_dc.items()});
  }

  Weight left_, right_, bias_, forget_, forget_bias_;
  unsigned hidden_;
  Layer layer_, forget_layer_;
  std::vector<float> sums_;                    ///< for some nodes: i, o, u; f_left; f_right
  float *saved_ = nullptr, *dsums_ = nullptr;  ///< null without training
};

}  // namespace

std::unique_ptr<InnerCell> make_own_forget_cell(Queue& queue, Workload& model) {
  return std::make_unique<OwnForgetCell>(queue, model);
}

}  // namespace dynet_like::bench::by_hand
