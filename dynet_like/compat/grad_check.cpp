// Gradients against central differences, in float.
#include "dynet/grad-check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "dynet_like/core/errors.h"

namespace dynet {

namespace {

// DyNet's. With a smaller step, rounding of values of a thousand would look like a wrong slope.
constexpr float kStep = 5e-3f;
constexpr double kTolerance = 0.01;

/// A parameter, or a row of a table, whose values can be changed.
struct Entry {
  std::string name;
  std::vector<float> values, gradient;
  std::function<void(const std::vector<float>&)> set;
};

std::vector<Entry> entries_of(const ParameterCollection& model) {
  std::vector<Entry> entries;
  for (const auto& storage : model.dynet_like::ParameterCollection::storages()) {
    if (!storage->is_table) {
      const dynet_like::Parameter p(storage);
      entries.push_back({storage->name, as_vector(storage->tensor()), detail::gradients().values(p),
                         [p](const std::vector<float>& values) { p.set_value(values); }});
      continue;
    }
    const dynet_like::LookupParameter table(storage);
    const dynet_like::Gradients::Rows* touched = detail::gradients().find_rows(*storage);
    if (touched == nullptr) continue;
    for (const unsigned row : touched->rows) {
      entries.push_back(
          {storage->name + " row " + std::to_string(row), as_vector(table.values(row)),
           detail::gradients().values(table, row),
           [table, row](const std::vector<float>& values) { table.initialize(row, values); }});
    }
  }
  return entries;
}

double sum_of(const dynet_like::Tensor& losses) {
  double sum = 0;
  for (const float loss : as_vector(losses)) sum += static_cast<double>(loss);
  return sum;
}

// The slope of the sum at element i of an entry, whose values stay.
double slope(const Entry& entry, std::size_t i, const Expression& expr) {
  std::vector<float> moved = entry.values;
  const auto value_at = [&](float x) {
    moved[i] = x;
    entry.set(moved);
    return sum_of(expr.graph("check_grad").forward(expr));
  };
  const float right = entry.values[i] + kStep, left = entry.values[i] - kStep;
  const double rise = value_at(right) - value_at(left);
  entry.set(entry.values);
  return rise / (static_cast<double>(right) - static_cast<double>(left));
}

bool agree(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= kTolerance * std::max(1.0, larger);
}

}  // namespace

bool check_grad(ParameterCollection& m, Expression& expr, int verbosity) {
  dynet_like::ComputationGraph& graph = expr.graph("check_grad");
  m.reset_gradient();
  graph.forward(expr);
  graph.backward(expr, detail::gradients());
  bool good = true;
  for (const Entry& entry : entries_of(m)) {
    if (verbosity > 1) std::cerr << entry.name << '\n';
    for (std::size_t i = 0; i < entry.values.size(); ++i) {
      const double expected = slope(entry, i, expr), got = static_cast<double>(entry.gradient[i]);
      const bool same = agree(expected, got);
      good = good && same;
      if (verbosity > (same ? 1 : 0)) {
        std::cerr << (same ? "" : "*** ") << entry.name << " element " << i << ": slope "
                  << expected << ", gradient " << got << '\n';
      }
    }
  }
  graph.forward(expr);
  return good;
}

}  // namespace dynet
