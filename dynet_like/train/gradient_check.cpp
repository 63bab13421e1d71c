// Compares gradients with central differences, number by number.
#include "dynet_like/train/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace dynet_like {

namespace {

// For floats, DyNet's step. With a smaller one, rounding of a loss near 1000 would look like a
// slope.
double step_of(DType dtype) { return dtype == DType::f64 ? 1e-5 : 5e-3; }

// Changes a number of a parameter, and restores it when it is destroyed.
class Moved {
 public:
  Moved(ParameterStorage& parameter, std::size_t element)
      : parameter_(parameter), element_(element), before_(parameter.tensor().at(element)) {}
  ~Moved() { set(before_); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  /// Adds `by` to the original number, and returns the result as it was rounded.
  double move(double by) {
    set(before_ + by);
    return parameter_.tensor().at(element_);
  }

 private:
  void set(double value) {
    parameter_.tensor().set(element_, value);
    parameter_.values_written(element_, 1);
  }

  ParameterStorage& parameter_;
  std::size_t element_;
  double before_;
};

double slope(ParameterStorage& parameter, std::size_t element,
             const std::function<double()>& loss) {
  Moved number(parameter, element);
  const double step = step_of(parameter.dtype);
  const double right = number.move(step), loss_right = loss();
  const double left = number.move(-step), loss_left = loss();
  return (loss_right - loss_left) / (right - left);
}

}  // namespace

double GradientDifference::error() const {
  return std::abs(slope - gradient) / std::max({1.0, std::abs(slope), std::abs(gradient)});
}

GradientDifference detail::check_gradients(
    const ParameterCollection& model, const Gradients& gradients,
    const std::function<double()>& loss,
    const std::function<void(const GradientDifference&)>& each) {
  GradientDifference worst;
  const auto compare = [&](ParameterStorage& parameter, const std::string& name, std::size_t first,
                           std::span<const double> gradient) {
    for (std::size_t i = 0; i < parameter.entry_size(); ++i) {
      // Minus infinity, say, as the score of a forbidden transition, has no differences.
      if (!std::isfinite(parameter.tensor().at(first + i))) continue;
      const GradientDifference here{name, i, slope(parameter, first + i, loss),
                                    gradient[first + i]};
      if (each) each(here);
      // A NaN is worse than any number.
      if (worst.parameter.empty() || !(here.error() <= worst.error())) worst = here;
    }
  };
  for (const auto& parameter : model.storages()) {
    const std::vector<double> gradient = gradients.all_doubles(*parameter);
    if (gradient.empty()) continue;
    parameter->refresh_rows();
    if (!parameter->is_table) compare(*parameter, parameter->name, 0, gradient);
    const Gradients::Rows* const rows = gradients.find_rows(*parameter);
    for (std::size_t r = 0; rows != nullptr && r < rows->rows.size(); ++r) {
      const std::uint32_t row = rows->rows[r];
      compare(*parameter, parameter->name + " row " + std::to_string(row),
              row * parameter->entry_size(), gradient);
    }
  }
  return worst;
}

GradientDifference check_gradients(
    const ParameterCollection& model,
    const std::function<Expression(ComputationGraph& graph)>& loss_of,
    const std::function<void(const GradientDifference&)>& each) {
  GraphOptions options;
  options.dtype = model.dtype();
  options.device = model.device();
  ComputationGraph graph(options);
  Gradients gradients;
  graph.backward(loss_of(graph), gradients);
  const auto loss = [&] {
    graph.clear();
    double sum = 0;
    for (const double number : as_doubles(loss_of(graph).value())) sum += number;
    return sum;
  };
  return detail::check_gradients(model, gradients, loss, each);
}

}  // namespace dynet_like
