// The cost of a user's own activation function compared with silu: declared by its formula,
// composed of operations, and as kernels of plain loops.
#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/device/kernel.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/graph/formula_op.h"

namespace {

using namespace dynet_like;

constexpr unsigned kSamples = 64, kLayers = 4;

struct Activation {
  std::string name;
  std::function<Expression(const Expression&)> apply;
};

void mish_loops(const ops::ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const float* x = call.in[0].at<float>(i);
    float* out = call.out.at<float>(i);
    for (std::size_t e = 0; e < call.type->output_size; ++e) {
      out[e] = x[e] * std::tanh(std::log1p(std::exp(x[e])));
    }
  }
}

void mish_loops_backward(const ops::BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    float* dx = call.dx[0].wanted() ? call.dx[0].at<float>(i) : nullptr;
    if (dx == nullptr) continue;
    const float *x = call.in[0].at<float>(i), *dy = call.dy.at<float>(i);
    for (std::size_t e = 0; e < call.type->output_size; ++e) {
      const float t = std::tanh(std::log1p(std::exp(x[e])));
      const float gradient = dy[e] * (t + x[e] * (1 - t * t) / (1 + std::exp(-x[e])));
      dx[e] = call.dx[0].add[i] != 0 ? dx[e] + gradient : gradient;
    }
  }
}

const ops::Op& mish_of_loops() {
  static const ops::Kernels kernels{{mish_loops, nullptr}, {mish_loops_backward, nullptr}};
  static const ops::Op op = [] {
    ops::Op result;
    result.name = "mish_loops";
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.kernels = &kernels;
    return result;
  }();
  return op;
}

std::vector<Activation> activations() {
  static const FormulaOp mish("mish", [](Term x) { return x * tanh(softplus(x)); });
  return {{"silu, built in", [](const Expression& x) { return silu(x); }},
          {"mish, by formula", [](const Expression& x) { return mish(x); }},
          {"mish, composed", [](const Expression& x) { return cmult(x, tanh(softplus(x))); }},
          {"mish, plain loops",
           [](const Expression& x) { return apply_op(mish_of_loops(), std::span(&x, 1)); }}};
}

// Records, runs forward and runs backward. Each application follows a product, if a matrix is
// given.
void run_once(const Activation& activation, const Parameter& shift, const Parameter* matrix,
              Minibatch& batch) {
  const auto size = static_cast<unsigned>(shift.dim().size());
  std::vector<float> numbers(size);
  for (unsigned i = 0; i < size; ++i) numbers[i] = static_cast<float>(i % 13) - 6;
  batch.clear();
  for (unsigned sample = 0; sample < kSamples; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    Expression x = input(graph, {size}, numbers) + shift;
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      x = activation.apply(matrix == nullptr ? x : *matrix * x);
    }
    batch.add_loss(sum_elems(x));
  }
  batch.forward();
  batch.backward();
}

void measure(unsigned size, bool after_product, double seconds) {
  const std::vector<Activation> all = activations();
  ParameterCollection model;
  const Parameter shift = model.add_parameters({size}, ParameterInitConst(0.1f));
  const Parameter matrix = model.add_parameters({size, size});
  std::vector<Minibatch> batches(all.size());
  std::vector<std::function<void()>> runs;
  for (std::size_t k = 0; k < all.size(); ++k) {
    runs.push_back(
        [&, k] { run_once(all[k], shift, after_product ? &matrix : nullptr, batches[k]); });
  }
  const std::vector<double> times = bench::seconds_by_turns(runs, seconds);
  for (std::size_t k = 0; k < all.size(); ++k) {
    fmt::print("{:>5}  {:<10}  {:<16} {:>8.2f} {:>8.2f}\n", size, after_product ? "f(W x)" : "f(x)",
               all[k].name, 1e9 * times[k] / (kSamples * kLayers * size), times[k] / times[0]);
  }
}

void run(int argc, char** argv) {
  double seconds = 1;
  bench::Options options(
      "A user's own activation function compared with silu: 64 samples with 4 applications in a\n"
      "row, alone or each after a product, by turns. Prints nanoseconds of processor time per\n"
      "element and application to record, run forward and run backward, and the ratio to silu's.");
  options.seconds(seconds, "seconds per size");
  if (!options.read(argc, argv)) return;
  fmt::print("{:>5}  {:<10}  {:<16} {:>8} {:>8}\n", "size", "", "", "ns", "silu = 1");
  for (const unsigned size : {16u, 64u, 256u}) {
    for (const bool after_product : {false, true}) measure(size, after_product, seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("formulas", [&] { run(argc, argv); });
}
