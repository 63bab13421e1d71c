// The BiLSTM tagger. Sentences are sorted by length, and the words of a step of both LSTMs are run
// together; the layers around them run all words of the minibatch at once.
#include <algorithm>
#include <numeric>

#include "bench/by_hand/model.h"
#include "dynet_like/ops/elementwise.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

// Sequences of a minibatch, the longest first. So the sequences that have a step are the first ones
// of those that have the step before, and contiguous. Elements are numbered by step, then by the
// place of their sequence.
struct Steps {
  struct Element {
    std::size_t sequence, position;
    std::size_t mirrored;  // the element of the same sequence with the same distance from its end
  };

  explicit Steps(const std::vector<std::size_t>& lengths = {}) {
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return lengths[i]; });
    std::size_t width = order.size();
    for (std::size_t step = 0;; ++step) {
      while (width > 0 && lengths[order[width - 1]] <= step) --width;
      if (width == 0) break;
      begins.push_back(begins.back() + width);
    }
    for (std::size_t step = 0; step < count(); ++step) {
      for (std::size_t place = 0; place < this->width(step); ++place) {
        const std::size_t sequence = order[place];
        elements.push_back({sequence, step, begins[lengths[sequence] - 1 - step] + place});
      }
    }
  }

  std::size_t count() const { return begins.size() - 1; }
  // How many sequences have the step.
  std::size_t width(std::size_t step) const {
    return step < count() ? begins[step + 1] - begins[step] : 0;
  }

  std::vector<std::size_t> begins{0};  // the first element of each step, and the number of all
  std::vector<Element> elements;
};

Places part(const Places& all, std::size_t first, std::size_t n) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return Places(begin, begin + static_cast<std::ptrdiff_t>(n));
}

// Does the work of nn::LSTM. A step is one call of the library's kernel. If few sequences have a
// step, reading W takes as long as multiplying. So for all such steps, which are the last ones, W x
// + b is one product, since it does not depend on states. There is no product with the zeros before
// the first step.
class LSTM {
 public:
  LSTM(Queue& queue, Weight w, Weight u, Weight bias)
      : w_(std::move(w)),
        u_(std::move(u)),
        bias_(std::move(bias)),
        hidden_(u_.dim().cols()),
        zeros_(hidden_) {
    const Dim x({w_.dim().cols()}), h({u_.dim().cols()});
    const auto cell = [&](std::vector<Dim> inputs) {
      return Layer(queue, ops::lstm_cell, std::move(inputs), {1, 0});
    };
    layers_ = {cell({bias_.dim(), h, w_.dim(), x}),
               cell({bias_.dim(), h, w_.dim(), x, u_.dim(), h}),
               cell({bias_.dim(), h, u_.dim(), h}),
               Layer(queue, ops::affine_transform, {bias_.dim(), w_.dim(), x})};
    layers_[kNarrow].stack(0);
  }

  // Reads an x for every element. `train`: a backward pass follows, until which `steps`, `xs` and
  // the arena's memory must stay unchanged.
  void forward(const Steps& steps, const Places& xs, Arena& arena, bool train) {
    steps_ = &steps;
    xs_ = xs;
    for (narrow_ = 1; steps.width(narrow_) >= kWide;) ++narrow_;
    allocate(arena, train);
    if (const std::size_t first = narrow_begin(); first < size()) {
      const Operand in[] = {bias_.operand(), w_.operand(), {xs_.data() + first}};
      layers_[kInputs].forward(size() - first, in, gates_ + first * 4 * hidden_, nullptr);
    }
    for (std::size_t step = 0; step < steps.count(); ++step) {
      const std::size_t begin = steps.begins[step];
      Operand in[6];
      Layer& layer = arguments(step, w_.operand(), u_.operand(), in);
      layer.forward(steps.width(step), in, states_ + begin * 2 * hidden_,
                    train ? saved_ + begin * saved_size() : nullptr);
    }
  }

  // By element: the output, and where its gradient must be written before the backward pass.
  const Places& h() const { return h_; }
  const Places& dh() const { return dh_; }

  // Sets the gradients of the weights, and writes those of every x.
  void backward(const GradientPlaces& dx) {
    for (std::size_t step = steps_->count(); step-- > 0;) backward_step(step, dx);
    if (const std::size_t first = narrow_begin(); first < size()) {
      const Operand in[] = {bias_.operand(), w_.transposed(), {xs_.data() + first}};
      const Destination to[] = {{}, {}, dx.from(first)};
      layers_[kInputs].backward(in, std::span(gate_places_).subspan(first), to);
    }
    w_.set_gradient(gate_places_, xs_);
    bias_.set_gradient(gate_places_);
    Places before;
    for (std::size_t step = 1; step < steps_->count(); ++step) {
      const Places some = part(h_, steps_->begins[step - 1], steps_->width(step));
      before.insert(before.end(), some.begin(), some.end());
    }
    const std::size_t first = steps_->width(0);
    u_.set_gradient(part(gate_places_, first, size() - first), before);
  }

  std::vector<Weight*> weights() { return {&w_, &u_, &bias_}; }
  double product_flops() const {
    const auto n = static_cast<double>(size());
    return n * w_.flops() + (n - static_cast<double>(steps_->width(0))) * u_.flops();
  }

 private:
  // From so many sequences on, it is worth reading W in every step: the cell makes the products
  // itself, while the gates' sums are in the cache.
  static constexpr std::size_t kWide = 16;
  enum { kFirst, kMiddle, kNarrow, kInputs };

  void allocate(Arena& arena, bool train) {
    const std::size_t n = size();
    const auto array = [&](bool needed, std::size_t each) {
      return needed ? arena.allocate_array<float>(n * each) : nullptr;
    };
    gates_ = array(true, 4 * hidden_);
    states_ = array(true, 2 * hidden_);
    saved_ = array(train, saved_size());
    dstates_ = array(train, 2 * hidden_);
    gate_places_ = rows(gates_, n, 4 * hidden_);
    h_ = rows(states_, n, 2 * hidden_);
    c_ = rows(states_ + hidden_, n, 2 * hidden_);
    if (!train) return;
    dh_ = rows(dstates_, n, 2 * hidden_);
    dstate_places_ = rows(dstates_, 2 * n, hidden_);
    dc_ = rows(dstates_ + hidden_, n, 2 * hidden_);
  }

  // Writes the arguments of a step's cell. Returns the layer that takes them.
  Layer& arguments(std::size_t step, const Operand& w, const Operand& u, Operand* in) {
    const std::size_t begin = steps_->begins[step];
    const Operand bias = bias_.operand(), x{xs_.data() + begin};
    if (step == 0) {
      std::ranges::copy(std::initializer_list<Operand>{bias, {nullptr, zeros_.data()}, w, x}, in);
      return layers_[kFirst];
    }
    const std::size_t before = steps_->begins[step - 1];
    const Operand c{c_.data() + before}, h{h_.data() + before};
    if (step < narrow_) {
      std::ranges::copy(std::initializer_list<Operand>{bias, c, w, x, u, h}, in);
      return layers_[kMiddle];
    }
    std::ranges::copy(std::initializer_list<Operand>{{gate_places_.data() + begin}, c, u, h}, in);
    return layers_[kNarrow];
  }

  // Each h has a gradient from outside, to which the next step adds. A c gets its gradient only
  // from the next step, or none at the end of a sequence.
  void backward_step(std::size_t step, const GradientPlaces& dx) {
    const std::size_t begin = steps_->begins[step], n = steps_->width(step);
    for (std::size_t v = begin + steps_->width(step + 1); v < begin + n; ++v) {
      std::fill_n(dstates_ + (2 * v + 1) * hidden_, hidden_, 0.0f);
    }
    const std::size_t before = step == 0 ? 0 : steps_->begins[step - 1];
    const Places saved = rows(saved_ + begin * saved_size(), n, saved_size());
    const GradientPlaces dgates(part(gate_places_, begin, n), false);
    const GradientPlaces dc(part(dc_, before, n), false), dh(part(dh_, before, n), true);
    Operand in[6];
    Layer& layer = arguments(step, w_.transposed(), u_.transposed(), in);
    Destination to[6];
    if (step > 0) to[1] = dc.destination();
    if (step < narrow_) to[3] = dx.from(begin);
    if (step > 0) to[step < narrow_ ? 5 : 3] = dh.destination();
    BackwardCall call;
    call.n = n;
    call.in = in;
    call.dx = to;
    call.saved.items = saved.data();
    call.dy.items = dstate_places_.data() + 2 * begin;
    call.deferred = dgates.items();
    layer.backward(call);
  }

  std::size_t narrow_begin() const { return steps_->begins[std::min(narrow_, steps_->count())]; }
  std::size_t size() const { return steps_->elements.size(); }
  std::size_t saved_size() const { return layers_[kMiddle].type().saved_size; }

  Weight w_, u_, bias_;
  std::size_t hidden_;
  std::vector<float> zeros_;
  std::vector<Layer> layers_;

  const Steps* steps_ = nullptr;
  std::size_t narrow_ = 0;  // the first step with few sequences
  Places xs_;
  // By element. A state is h, then c. The backward pass does not need W x + b: the gradients of the
  // gates replace it. The last two are null without training.
  float *gates_ = nullptr, *states_ = nullptr, *saved_ = nullptr, *dstates_ = nullptr;
  Places gate_places_, h_, c_, dh_, dc_, dstate_places_;
};

// A hidden layer with tanh of two vectors. Their matrices are side by side in the model's weight,
// so that the vectors need not be concatenated.
class HiddenLayer {
 public:
  HiddenLayer(Queue& queue, Weight left, Weight right, Weight bias)
      : left_(std::move(left)),
        right_(std::move(right)),
        bias_(std::move(bias)),
        size_(bias_.dim().rows()),
        sum_layer_(queue, ops::affine_transform,
                   {bias_.dim(), left_.dim(), Dim({left_.dim().cols()}), right_.dim(),
                    Dim({right_.dim().cols()})}),
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

class Tagger : public Model {
 public:
  explicit Tagger(Workload& model)
      : Model(model),
        sentences_(make_sentences(kTaggerData)),
        forward_(lstm_of(model, "/forward")),
        backward_(lstm_of(model, "/backward")),
        hidden_(hidden_of(model, model.parameters().find("/forward/U")->dim.cols())),
        output_(*queue_, weight_of(model, "/output/W"), weight_of(model, "/output/b")) {}

  std::size_t size() const override { return sentences_.size(); }
  std::size_t words(std::size_t instance) const override {
    return sentences_[instance].words.size();
  }

  double forward(std::size_t first, std::size_t count, bool train) override {
    arena_.reset();
    const auto sentences = std::span(sentences_).subspan(first, count);
    std::vector<std::size_t> lengths;
    for (const Sentence& sentence : sentences) lengths.push_back(sentence.words.size());
    steps_ = Steps(lengths);
    words_.clear();
    labels_.clear();
    for (const Steps::Element& word : steps_.elements) {
      words_.push_back(sentences[word.sequence].words[word.position]);
      labels_.push_back(sentences[word.sequence].tags[word.position]);
    }
    const Places xs = word_rows();
    forward_.forward(steps_, xs, arena_, train);
    backward_.forward(steps_, mirrored(xs), arena_, train);
    hidden_.forward(forward_.h(), mirrored(backward_.h()), arena_, train);
    return output_.run(hidden_.ys(), labels_, arena_, train ? &hidden_.dys() : nullptr);
  }

  void update(float rate) override {
    hidden_.backward(forward_.h(), mirrored(backward_.h()), forward_.dh(),
                     mirrored(backward_.dh()));
    auto* const dwords = arena_.allocate_array<float>(words_.size() * embedding());
    const Places to = rows(dwords, words_.size(), embedding());
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
           static_cast<double>(words_.size()) * (hidden_.product_flops() + output_.product_flops());
  }
  std::size_t steps() const override { return 2 * steps_.count(); }

 private:
  LSTM lstm_of(Workload& model, const std::string& path) {
    return {*queue_, weight_of(model, path + "/W"), weight_of(model, path + "/U"),
            weight_of(model, path + "/b")};
  }
  HiddenLayer hidden_of(Workload& model, unsigned inputs) {
    return {*queue_, columns_of(model, "/hidden/W", 0, inputs),
            columns_of(model, "/hidden/W", inputs, 2 * inputs), weight_of(model, "/hidden/b")};
  }
  // The backward direction takes its steps in the same order, but from the end of every sentence.
  Places mirrored(const Places& all) const {
    return places(0, all.size(), [&](std::size_t v) { return all[steps_.elements[v].mirrored]; });
  }

  const std::vector<Sentence> sentences_;
  Steps steps_;
  LSTM forward_, backward_;
  HiddenLayer hidden_;
  WordLosses output_;
};

}  // namespace

std::unique_ptr<Model> make_tagger(Workload& model) { return std::make_unique<Tagger>(model); }

}  // namespace dynet_like::bench::by_hand
