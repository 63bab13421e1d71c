// Calls of the cell, and the products around them.
#include "bench/by_hand/lstm.h"

#include <algorithm>

#include "bench/by_hand/parameters.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

// The cell takes one product at least: the first step has that of a column of zeros with a zero.
const Dim kOneColumn({1});

}  // namespace

LSTM::LSTM(Queue& queue, Workload& model, const std::string& path)
    : w_(weight_of(queue, model, path + "/W")),
      u_(weight_of(queue, model, path + "/U")),
      bias_(weight_of(queue, model, path + "/b")),
      hidden_(u_.dim().cols()),
      input_layer_(queue, ops::affine_transform, {bias_.dim(), w_.dim(), Dim({w_.dim().cols()})}),
      first_layer_(queue, ops::lstm_cell,
                   {bias_.dim(), Dim({u_.dim().cols()}), bias_.dim(), kOneColumn}, {1, 0}),
      layer_(queue, ops::lstm_cell,
             {bias_.dim(), Dim({u_.dim().cols()}), u_.dim(), Dim({u_.dim().cols()})}, {1, 0}),
      zeros_(4 * hidden_) {
  first_layer_.stack(0);
  layer_.stack(0);
}

void LSTM::allocate(Arena& arena, bool train) {
  const std::size_t n = size();
  const auto array = [&](bool needed, std::size_t each) {
    return needed ? arena.allocate_array<float>(n * each) : nullptr;
  };
  sums_ = array(true, 4 * hidden_);
  states_ = array(true, 2 * hidden_);
  saved_ = array(train, layer_.type().saved_size);
  dstates_ = array(train, 2 * hidden_);
  sum_places_ = rows(sums_, n, 4 * hidden_);
  h_ = rows(states_, n, 2 * hidden_);
  c_ = rows(states_ + hidden_, n, 2 * hidden_);
  if (!train) return;
  dh_ = rows(dstates_, n, 2 * hidden_);
  dc_ = rows(dstates_ + hidden_, n, 2 * hidden_);
}

void LSTM::forward(const Steps& steps, const Places& xs, Arena& arena, bool train) {
  steps_ = &steps;
  xs_ = xs;
  allocate(arena, train);
  const Operand inputs[] = {bias_.operand(), w_.operand(), {xs_.data()}};
  input_layer_.forward(size(), inputs, sums_, nullptr);
  for (std::size_t step = 0; step < steps.count(); ++step) {
    const std::size_t begin = steps.begin(step);
    float* states = states_ + begin * 2 * hidden_;
    float* saved = train ? saved_ + begin * layer_.type().saved_size : nullptr;
    const Operand zeros{nullptr, zeros_.data()}, sums{sum_places_.data() + begin};
    if (step == 0) {
      const Operand in[] = {sums, zeros, zeros, zeros};
      first_layer_.forward(steps.width(step), in, states, saved);
    } else {
      const std::size_t before = steps.begin(step - 1);
      const Operand in[] = {sums, {c_.data() + before}, u_.operand(), {h_.data() + before}};
      layer_.forward(steps.width(step), in, states, saved);
    }
  }
}

void LSTM::backward(const GradientPlaces& dx) {
  for (std::size_t step = steps_->count(); step-- > 0;) backward_step(step);
  backward_inputs(dx);
  set_weight_gradients();
}

// An h has got a gradient from outside, to which the step behind adds; a c gets only one from that
// step, or none at the end of a sequence.
void LSTM::backward_step(std::size_t step) {
  const std::size_t begin = steps_->begin(step), n = steps_->width(step);
  for (std::size_t v = begin + steps_->width(step + 1); v < begin + n; ++v) {
    std::fill_n(dstates_ + (2 * v + 1) * hidden_, hidden_, 0.0f);
  }
  const std::size_t each = layer_.type().saved_size;
  const Places saved = rows(saved_ + begin * each, n, each);
  const GradientPlaces dsums(Places(sum_places_.begin() + begin, sum_places_.begin() + begin + n),
                             false);
  BackwardCall call;
  call.n = n;
  call.saved.items = saved.data();
  call.dy.items = dh_.data() + begin;
  call.deferred = dsums.items();
  const Operand zeros{nullptr, zeros_.data()}, sums{sum_places_.data() + begin};
  if (step == 0) {
    const Operand in[] = {sums, zeros, zeros, zeros};
    const Destination none[4] = {};
    call.in = in;
    call.dx = none;
    return first_layer_.backward(call);
  }
  const std::size_t before = steps_->begin(step - 1);
  const auto of_those_before = [&](const Places& all) {
    return Places(all.begin() + before, all.begin() + before + n);
  };
  const GradientPlaces dc(of_those_before(dc_), false), dh(of_those_before(dh_), true);
  const Operand in[] = {sums, {c_.data() + before}, u_.transposed(), {h_.data() + before}};
  const Destination dx[] = {{}, dc.destination(), {}, dh.destination()};
  call.in = in;
  call.dx = dx;
  layer_.backward(call);
}

void LSTM::backward_inputs(const GradientPlaces& dx) {
  const Operand in[] = {bias_.operand(), w_.transposed(), {xs_.data()}};
  const Destination to[] = {{}, {}, dx.destination()};
  BackwardCall call;
  call.n = size();
  call.in = in;
  call.dy.items = sum_places_.data();
  call.dx = to;
  input_layer_.backward(call);
}

void LSTM::set_weight_gradients() {
  w_.set_gradient(sum_places_, xs_);
  bias_.set_gradient(sum_places_);
  Places before;
  for (std::size_t step = 1; step < steps_->count(); ++step) {
    const auto first = h_.begin() + steps_->begin(step - 1);
    before.insert(before.end(), first, first + steps_->width(step));
  }
  u_.set_gradient(Places(sum_places_.begin() + steps_->width(0), sum_places_.end()), before);
}

double LSTM::product_flops() const {
  const auto n = static_cast<double>(size());
  return n * w_.flops() + (n - static_cast<double>(steps_->width(0))) * u_.flops();
}

}  // namespace dynet_like::bench::by_hand
