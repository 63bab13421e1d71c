// The library's check of gradients, with DyNet's tolerance and output.
#include "dynet/grad-check.h"

#include <iostream>

#include "dynet_like/core/text.h"
#include "dynet_like/train/gradient_check.h"

namespace dynet {

namespace {

constexpr double kTolerance = 0.01;  // DyNet's

}  // namespace

bool check_grad(ParameterCollection& m, Expression& expr, int verbosity) {
  dynet_like::ComputationGraph& graph = expr.graph("check_grad");
  const auto value = [&] {
    double sum = 0;
    graph.invalidate();
    for (const double loss : dynet_like::as_doubles(expr.value())) sum += loss;
    return sum;
  };
  m.reset_gradient();
  value();
  graph.backward(expr, detail::gradients());
  bool good = true;
  const auto compare = [&](const dynet_like::GradientDifference& here) {
    const bool same = here.error() <= kTolerance;
    good = good && same;
    if (verbosity <= (same ? 1 : 0)) return;
    std::cerr << (same ? "" : "*** ") << dynet_like::detail::visible_text(here.parameter)
              << " element " << here.element << ": slope " << here.slope << ", gradient "
              << here.gradient << '\n';
  };
  dynet_like::detail::check_gradients(m, detail::gradients(), value, compare);
  value();
  return good;
}

}  // namespace dynet
