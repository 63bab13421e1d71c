// The BiLSTM tagger.
#include "bench/by_hand/lstm.h"
#include "bench/by_hand/sequence_model.h"
#include "bench/by_hand/word_losses.h"
#include "dynet_like/ops/elementwise.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

// A hidden layer with tanh of two vectors. Their matrices are side by side in the model's weight,
// so that the vectors need not be concatenated.
class HiddenLayer {
 public:
  HiddenLayer(Queue& queue, Workload& model, const std::string& path, unsigned inputs)
      : left_(columns_of(queue, model, path + "/W", 0, inputs)),
        right_(columns_of(queue, model, path + "/W", inputs, 2 * inputs)),
        bias_(weight_of(queue, model, path + "/b")),
        size_(bias_.dim().rows()),
        sum_layer_(queue, ops::affine_transform,
                   {bias_.dim(), left_.dim(), Dim({inputs}), right_.dim(), Dim({inputs})}),
        tanh_layer_(queue, ops::elementwise<ops::formulas::Tanh>, {bias_.dim()}) {}

  void forward(const Places& left, const Places& right, Arena& arena, bool train) {
    const std::size_t n = left.size();
    auto* sums = arena.allocate_array<float>(n * size_);
    auto* ys = arena.allocate_array<float>(n * size_);
    sums_ = rows(sums, n, size_);
    ys_ = rows(ys, n, size_);
    if (train) dys_ = rows(arena.allocate_array<float>(n * size_), n, size_);
    const Operand in[] = {
        bias_.operand(), left_.operand(), {left.data()}, right_.operand(), {right.data()}};
    sum_layer_.forward(n, in, sums, nullptr);
    const Operand tanh_in[] = {{sums_.data()}};
    tanh_layer_.forward(n, tanh_in, ys, nullptr);
  }

  // By word: the output, and where its gradient must be written before the backward pass.
  const Places& ys() const { return ys_; }
  const Places& dys() const { return dys_; }

  // Sets the gradients of the weights, and writes those of the inputs.
  void backward(const Places& left, const Places& right, const Places& dleft,
                const Places& dright) {
    // Gradients replace the sums.
    const GradientPlaces dsums(sums_, false), to_left(dleft, false), to_right(dright, false);
    const Destination tanh_dx[] = {dsums.destination()};
    BackwardCall tanh;
    tanh.n = left.size();
    tanh.out.items = ys_.data();
    tanh.dy.items = dys_.data();
    tanh.dx = tanh_dx;
    tanh_layer_.backward(tanh);

    const Operand in[] = {
        bias_.operand(), left_.transposed(), {left.data()}, right_.transposed(), {right.data()}};
    const Destination dx[] = {{}, {}, to_left.destination(), {}, to_right.destination()};
    sum_layer_.backward(in, sums_, dx);
    left_.set_gradient(sums_, left);
    right_.set_gradient(sums_, right);
    bias_.set_gradient(sums_);
  }

  std::vector<Weight*> weights() { return {&left_, &right_, &bias_}; }
  double product_flops() const { return left_.flops() + right_.flops(); }

 private:
  Weight left_, right_, bias_;
  std::size_t size_;
  Layer sum_layer_, tanh_layer_;
  Places sums_, ys_, dys_;
};

class Tagger : public SequenceModel {
 public:
  explicit Tagger(Workload& model)
      : SequenceModel(model, kTaggerData, 0),
        forward_(*queue_, model, "/forward"),
        backward_(*queue_, model, "/backward"),
        hidden_(*queue_, model, "/hidden", model.parameters().find("/forward/U")->dim.cols()),
        output_(*queue_, model, "/output") {}

  double forward(std::span<const Sentence> sentences, bool train) override {
    begin(sentences);
    set_labels(sentences, [](const Sentence& sentence, std::size_t position) {
      return sentence.tags[position];
    });
    const Places xs = table_.rows(words_);
    forward_.forward(steps_, xs, arena_, train);
    backward_.forward(steps_, mirrored(xs), arena_, train);
    hidden_.forward(forward_.h(), mirrored(backward_.h()), arena_, train);
    if (!train) return output_.forward(hidden_.ys(), labels_, arena_);
    return output_.forward_and_backward(hidden_.ys(), labels_, arena_, hidden_.dys());
  }

  void update(float rate) override {
    hidden_.backward(forward_.h(), mirrored(backward_.h()), forward_.dh(),
                     mirrored(backward_.dh()));
    auto* dwords = arena_.allocate_array<float>(words() * table_.size());
    const Places to = rows(dwords, words(), table_.size());
    forward_.backward({to, false});
    backward_.backward({mirrored(to), true});
    descend(dwords, rate);
  }

  std::vector<Weight*> weights() override {
    std::vector<Weight*> all;
    for (const auto& some :
         {forward_.weights(), backward_.weights(), hidden_.weights(), output_.weights()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  double product_flops() const override {
    return forward_.product_flops() + backward_.product_flops() +
           static_cast<double>(words()) * (hidden_.product_flops() + output_.product_flops());
  }
  std::size_t steps() const override { return 2 * steps_.count(); }

 private:
  // The backward direction takes its steps in the same order, but from the end of every sentence.
  Places mirrored(const Places& all) const {
    return places(0, all.size(), [&](std::size_t v) { return all[steps_.elements()[v].mirrored]; });
  }

  LSTM forward_, backward_;
  HiddenLayer hidden_;
  WordLosses output_;
};

}  // namespace

std::unique_ptr<SequenceModel> make_tagger(Workload& model) {
  return std::make_unique<Tagger>(model);
}

}  // namespace dynet_like::bench::by_hand
