// The cell whose forget gates read both children.
#include "bench/by_hand/parameters.h"
#include "bench/by_hand/tree_cells.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

class BothForgetCell : public InnerCell {
 public:
  BothForgetCell(Queue& queue, Workload& model)
      : left_(weight_of(queue, model, "/tree_lstm/U_left")),
        right_(weight_of(queue, model, "/tree_lstm/U_right")),
        bias_(weight_of(queue, model, "/tree_lstm/b")),
        hidden_(left_.dim().cols()),
        layer_(queue, ops::lstm_cell,
               {bias_.dim(), Dim({hidden_}), Dim({hidden_}), left_.dim(), Dim({hidden_}),
                right_.dim(), Dim({hidden_})},
               {2, 0}) {}

  void allocate(Arena& arena, std::size_t nodes, bool train) override {
    saved_ = train ? arena.allocate_array<float>(nodes * layer_.type().saved_size) : nullptr;
    dgates_ = train ? arena.allocate_array<float>(nodes * 5 * hidden_) : nullptr;
  }

  void forward(const InnerNodes& nodes, float* states) override {
    const Operand in[] = {bias_.operand(),       {nodes.left_c.data()}, {nodes.right_c.data()},
                          left_.operand(),       {nodes.left_h.data()}, right_.operand(),
                          {nodes.right_h.data()}};
    layer_.forward(nodes.count, in, states, saved_ == nullptr ? nullptr : saved(nodes.first));
  }

  void backward(const InnerNodes& nodes, const InnerGradients& gradients) override {
    const std::size_t end = nodes.first + nodes.count;
    const Places kept = places(nodes.first, end, [&](std::size_t v) { return saved(v); });
    const GradientPlaces to_gates(dgates(nodes.first, end), false);
    const GradientPlaces left_dc(gradients.left_dc, false), right_dc(gradients.right_dc, false);
    const GradientPlaces left_dh(gradients.left_dh, true), right_dh(gradients.right_dh, true);
    const Operand in[] = {bias_.operand(),       {nodes.left_c.data()}, {nodes.right_c.data()},
                          left_.transposed(),    {nodes.left_h.data()}, right_.transposed(),
                          {nodes.right_h.data()}};
    const Destination dx[] = {
        {}, left_dc.destination(), right_dc.destination(), {}, left_dh.destination(),
        {}, right_dh.destination()};
    Places dstates;  // h and c separately
    for (const void* const d : gradients.dstates) {
      dstates.insert(dstates.end(), {d, static_cast<const float*>(d) + hidden_});
    }
    BackwardCall call;
    call.n = nodes.count;
    call.in = in;
    call.saved.items = kept.data();
    call.dy.items = dstates.data();
    call.dx = dx;
    call.deferred = to_gates.items();
    layer_.backward(call);
  }

  void set_weight_gradients(const InnerNodes& all) override {
    const Places of_gates = dgates(0, all.count);
    left_.set_gradient(of_gates, all.left_h);
    right_.set_gradient(of_gates, all.right_h);
    bias_.set_gradient(of_gates);
  }

  std::vector<Weight*> weights() override { return {&left_, &right_, &bias_}; }
  double product_flops() const override { return left_.flops() + right_.flops(); }
  Weight& bias() override { return bias_; }
  std::size_t leaf_row() const override { return 2 * hidden_; }

 private:
  float* saved(std::size_t node) const { return saved_ + node * layer_.type().saved_size; }
  Places dgates(std::size_t begin, std::size_t end) const {
    return places(begin, end, [&](std::size_t v) { return dgates_ + v * 5 * hidden_; });
  }

  Weight left_, right_, bias_;
  unsigned hidden_;
  Layer layer_;
  float *saved_ = nullptr, *dgates_ = nullptr;  ///< null without training
};

}  // namespace

std::unique_ptr<InnerCell> make_both_forget_cell(Queue& queue, Workload& model) {
  return std::make_unique<BothForgetCell>(queue, model);
}

}  // namespace dynet_like::bench::by_hand
