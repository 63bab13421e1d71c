// Prepares the arguments of kernels.
#include "bench/by_hand/kernels.h"

#include "dynet_like/device/updates.h"

namespace dynet_like::bench::by_hand {

Weight::Weight(Queue& queue, std::string name, const Dim& dim, std::vector<float> values)
    : queue_(&queue),
      name_(std::move(name)),
      dim_(dim),
      values_(std::move(values)),
      gradient_(values_.size()) {
  if (dim_.cols() == 1) return;
  packed_ = Block(queue.packed_bytes(DType::f32, dim_.rows(), dim_.cols(), false));
  packed_transpose_ = Block(queue.packed_bytes(DType::f32, dim_.rows(), dim_.cols(), true));
  pack_transpose();
}

Operand Weight::operand(std::size_t columns) {
  columns_ += columns;
  if (packed_.size() > 0 && !is_packed_ && columns_ >= kWorthPacking) {
    queue_->pack(DType::f32, values_.data(), dim_.rows(), dim_.cols(), false, packed_.data());
    is_packed_ = true;
  }
  return {nullptr, values_.data(), is_packed_ ? packed_.data() : nullptr};
}

void Weight::pack_transpose() {
  if (packed_transpose_.size() == 0) return;
  queue_->pack(DType::f32, values_.data(), dim_.rows(), dim_.cols(), true,
               packed_transpose_.data());
}

void Weight::set_gradient(const Places& dy, const Places& x) {
  queue_->add_outer_products(
      DType::f32,
      {gradient_.data(), dim_.rows(), dim_.cols(), {dy.data(), x.data(), dy.size()}, true});
}

void Weight::set_gradient(const Places& dy) {
  queue_->add_all(DType::f32, gradient_.data(), gradient_.size(), {dy.data(), nullptr, dy.size()},
                  SumStart::zero);
}

void Weight::add_gradient(std::size_t first, std::size_t size, const Places& dy) {
  queue_->add_all(DType::f32, gradient_.data() + first, size, {dy.data(), nullptr, dy.size()});
}

void descend(float* values, const float* gradient, std::size_t count, float rate) {
  Elements all;
  all.count = count;
  all.values = values;
  all.gradient = gradient;
  cpu_updates().apply({Descend()}, std::span(&all, 1), {static_cast<double>(rate)});
}

void Weight::update(float rate) {
  descend(values_.data(), gradient_.data(), values_.size(), rate);
  columns_ = 0;
  is_packed_ = false;
  pack_transpose();
}

Layer::Layer(Queue& queue, const Op& op, std::vector<Dim> inputs,
             std::vector<std::uint32_t> attributes)
    : queue_(&queue), kernels_(&queue.kernels(op)) {
  type_.op = &op;
  type_.inputs = std::move(inputs);
  type_.attributes = std::move(attributes);
  for (unsigned j = 0; j < type_.inputs.size(); ++j) {
    type_.shared.push_back(op.joins(j, type_.attributes) == Join::broadcast);
  }
  type_.integers = op.integers(type_.attributes);
  type_.output = op.shape(type_.inputs, type_.attributes);
  type_.output_size = type_.output.size();
  if (op.gradient.saved_size != nullptr) type_.saved_size = op.gradient.saved_size(type_);
  if (op.gradient.deferred_size != nullptr) type_.deferred_size = op.gradient.deferred_size(type_);
}

void Layer::forward(std::size_t n, std::span<const Operand> in, float* out, float* saved,
                    const std::uint32_t* integers) {
  ForwardCall call;
  call.type = &type_;
  call.n = n;
  call.in = in.data();
  call.out = {out, part_size(type_)};
  call.saved = saved;
  call.integers = integers;
  queue_->forward(kernels_->forward[static_cast<int>(DType::f32)], call);
}

void Layer::backward(const BackwardCall& call) {
  BackwardCall complete = call;
  complete.type = &type_;
  queue_->backward(kernels_->backward[static_cast<int>(DType::f32)], complete);
}

void Layer::backward(const Operand* in, std::span<const void* const> dy, const Destination* dx) {
  BackwardCall call;
  call.n = dy.size();
  call.in = in;
  call.dy.items = dy.data();
  call.dx = dx;
  backward(call);
}

}  // namespace dynet_like::bench::by_hand
