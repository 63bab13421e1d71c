// Calls of the cell's kernel, and the products around them.
#include "bench/by_hand/lstm.h"

#include <algorithm>

#include "bench/by_hand/parameters.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::bench::by_hand {

namespace {

// From so many sequences on, it is worth reading W in every step: the cell makes the products
// itself, while the gates' sums are in the cache.
constexpr std::size_t kWide = 16;

Dim vector_for(const Weight& weight) { return Dim({weight.dim().cols()}); }

Places part(const Places& all, std::size_t first, std::size_t n) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return Places(begin, begin + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

LSTM::LSTM(Queue& queue, Workload& model, const std::string& path)
    : w_(weight_of(queue, model, path + "/W")),
      u_(weight_of(queue, model, path + "/U")),
      bias_(weight_of(queue, model, path + "/b")),
      hidden_(u_.dim().cols()),
      first_layer_(queue, ops::lstm_cell, {bias_.dim(), vector_for(u_), w_.dim(), vector_for(w_)},
                   {1, 0}),
      wide_layer_(queue, ops::lstm_cell,
                  {bias_.dim(), vector_for(u_), w_.dim(), vector_for(w_), u_.dim(), vector_for(u_)},
                  {1, 0}),
      narrow_layer_(queue, ops::lstm_cell, {bias_.dim(), vector_for(u_), u_.dim(), vector_for(u_)},
                    {1, 0}),
      input_layer_(queue, ops::affine_transform, {bias_.dim(), w_.dim(), vector_for(w_)}),
      zeros_(hidden_) {
  narrow_layer_.stack(0);
}

void LSTM::allocate(Arena& arena, bool train) {
  const std::size_t n = size();
  const auto array = [&](bool needed, std::size_t each) {
    return needed ? arena.allocate_array<float>(n * each) : nullptr;
  };
  gates_ = array(true, 4 * hidden_);
  states_ = array(true, 2 * hidden_);
  saved_ = array(train, wide_layer_.type().saved_size);
  dstates_ = array(train, 2 * hidden_);
  gate_places_ = rows(gates_, n, 4 * hidden_);
  h_ = rows(states_, n, 2 * hidden_);
  c_ = rows(states_ + hidden_, n, 2 * hidden_);
  if (!train) return;
  dh_ = rows(dstates_, n, 2 * hidden_);
  dstate_places_ = rows(dstates_, 2 * n, hidden_);
  dc_ = rows(dstates_ + hidden_, n, 2 * hidden_);
}

void LSTM::forward(const Steps& steps, const Places& xs, Arena& arena, bool train) {
  steps_ = &steps;
  xs_ = xs;
  for (narrow_ = 1; steps.width(narrow_) >= kWide;) ++narrow_;
  allocate(arena, train);
  const Operand w = w_.operand(), u = u_.operand(), bias = bias_.operand();
  forward_narrow_inputs(w);
  for (std::size_t step = 0; step < steps.count(); ++step) {
    const std::size_t begin = steps.begin(step), n = steps.width(step);
    float* states = states_ + begin * 2 * hidden_;
    float* saved = train ? saved_ + begin * wide_layer_.type().saved_size : nullptr;
    const Operand x{xs_.data() + begin};
    if (step == 0) {
      const Operand in[] = {bias, {nullptr, zeros_.data()}, w, x};
      first_layer_.forward(n, in, states, saved);
      continue;
    }
    const std::size_t before = steps.begin(step - 1);
    const Operand c{c_.data() + before}, h{h_.data() + before};
    if (step < narrow_) {
      const Operand in[] = {bias, c, w, x, u, h};
      wide_layer_.forward(n, in, states, saved);
    } else {
      const Operand in[] = {{gate_places_.data() + begin}, c, u, h};
      narrow_layer_.forward(n, in, states, saved);
    }
  }
}

void LSTM::forward_narrow_inputs(const Operand& w) {
  const std::size_t first = narrow_begin();
  if (first == size()) return;
  const Operand in[] = {bias_.operand(), w, {xs_.data() + first}};
  input_layer_.forward(size() - first, in, gates_ + first * 4 * hidden_, nullptr);
}

void LSTM::backward(const GradientPlaces& dx) {
  for (std::size_t step = steps_->count(); step-- > 0;) backward_step(step, dx);
  backward_narrow_inputs(dx);
  set_weight_gradients();
}

// Each h has a gradient from outside, to which the next step adds. A c gets its gradient only from
// the next step, or none at the end of a sequence.
void LSTM::backward_step(std::size_t step, const GradientPlaces& dx) {
  const std::size_t begin = steps_->begin(step), n = steps_->width(step);
  for (std::size_t v = begin + steps_->width(step + 1); v < begin + n; ++v) {
    std::fill_n(dstates_ + (2 * v + 1) * hidden_, hidden_, 0.0f);
  }
  const std::size_t each = wide_layer_.type().saved_size;
  const Places saved = rows(saved_ + begin * each, n, each);
  const GradientPlaces dgates(part(gate_places_, begin, n), false);
  BackwardCall call;
  call.n = n;
  call.saved.items = saved.data();
  call.dy.items = dstate_places_.data() + 2 * begin;
  call.deferred = dgates.items();
  const Operand w = w_.transposed(), u = u_.transposed(), bias = bias_.operand();
  const Operand x{xs_.data() + begin};
  const auto run = [&](Layer& layer, const Operand* in, const Destination* to) {
    call.in = in;
    call.dx = to;
    layer.backward(call);
  };
  if (step == 0) {
    const Operand in[] = {bias, {nullptr, zeros_.data()}, w, x};
    const Destination to[] = {{}, {}, {}, dx.from(begin)};
    return run(first_layer_, in, to);
  }
  const std::size_t before = steps_->begin(step - 1);
  const GradientPlaces dc(part(dc_, before, n), false), dh(part(dh_, before, n), true);
  const Operand c{c_.data() + before}, h{h_.data() + before};
  if (step < narrow_) {
    const Operand in[] = {bias, c, w, x, u, h};
    const Destination to[] = {{}, dc.destination(), {}, dx.from(begin), {}, dh.destination()};
    run(wide_layer_, in, to);
  } else {
    const Operand in[] = {{gate_places_.data() + begin}, c, u, h};
    const Destination to[] = {{}, dc.destination(), {}, dh.destination()};
    run(narrow_layer_, in, to);
  }
}

void LSTM::backward_narrow_inputs(const GradientPlaces& dx) {
  const std::size_t first = narrow_begin();
  if (first == size()) return;
  const Operand in[] = {bias_.operand(), w_.transposed(), {xs_.data() + first}};
  const Destination to[] = {{}, {}, dx.from(first)};
  input_layer_.backward(in, std::span(gate_places_).subspan(first), to);
}

void LSTM::set_weight_gradients() {
  w_.set_gradient(gate_places_, xs_);
  bias_.set_gradient(gate_places_);
  Places before;
  for (std::size_t step = 1; step < steps_->count(); ++step) {
    const auto first = h_.begin() + static_cast<std::ptrdiff_t>(steps_->begin(step - 1));
    before.insert(before.end(), first, first + static_cast<std::ptrdiff_t>(steps_->width(step)));
  }
  const std::size_t first = steps_->width(0);
  u_.set_gradient(part(gate_places_, first, size() - first), before);
}

double LSTM::product_flops() const {
  const auto n = static_cast<double>(size());
  return n * w_.flops() + (n - static_cast<double>(steps_->width(0))) * u_.flops();
}

}  // namespace dynet_like::bench::by_hand
