// The gradient of every op against central differences in double, generated from the op table.
//
// The loss is the output times fixed weights, none of them zero. Differences are extrapolated
// (Richardson: steps h and 2h, so that the error is of order h^4); all points are exact in float
// and double. The gradient must agree within 1e-8 of the larger of 1 and itself: element by
// element, and where tests are slow, along two random directions.
#include "dynet_like/train/gradient_check.h"
#include "tests/ops/cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

constexpr double kStep = 0x1p-12;
// No two numbers that move by up to three of them in opposite directions pass each other.
constexpr double kStepAlong = 0x1p-15;
constexpr double kBound = 1e-8;
constexpr unsigned kMinibatch = 3;

// Where an argument comes from.
enum class Source { input, minibatch, parameter };
using Sources = std::vector<Source>;

std::string name_of(const Sources& sources) {
  std::string name;
  for (Source source : sources) name += "imp"[static_cast<int>(source)];
  return name;
}

std::vector<double> as_doubles(const std::vector<std::byte>& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// (4 D(h) - D(2h)) / 3, where `moved` gives the loss after a step.
template <class F>
double extrapolated(F&& moved, double h = kStep) {
  const auto difference = [&](double step) { return (moved(step) - moved(-step)) / (2 * step); };
  return (4 * difference(h) - difference(2 * h)) / 3;
}

// A graph of one node and its loss, whose arguments can be moved.
class Problem {
 public:
  // `repeated`: the first argument stands for all. `items`: how many the numbers are for.
  Problem(const OpCall& call, const Sources& sources, std::size_t items, bool repeated = false) {
    Random random(11);
    const std::vector<Item> drawn = draw_items(call, items, random, Digits::few);
    std::vector<Expression> inputs;
    values_.resize(repeated ? 1 : sources.size());
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const Dim dim =
          minibatch_of(call.shapes.inputs[j], sources[j] == Source::minibatch ? kMinibatch : 1);
      std::vector<double> numbers = draw_numbers(call.shapes, dim, random, Digits::few);
      // Half a digit apart: at equal numbers, the larger of two has no derivative.
      for (double& number : numbers) number += j % 2 == 1 ? 0x1p-11 : 0;
      if (sources[j] == Source::parameter) {
        parameters_.push_back(std::make_unique<Argument>(collection_, call, j, numbers));
        inputs.push_back(parameters_.back()->in(graph_));
      } else {
        parameters_.push_back(nullptr);
        values_[j] = converted<float>(numbers);
        inputs.push_back(input(graph_, dim, &values_[j]));
      }
    }
    arguments_ = inputs;
    if (repeated) inputs.resize(sources.size(), inputs[0]);
    const Expression output = record(graph_, call, inputs, drawn);
    const Dim dim = output.dim();
    const auto weights = converted<float>(draw_weights(dim.size(), random));
    loss_ = dot_product(output, input(graph_, dim, weights));
  }

  void check() {
    const Gradients& of_parameters = graph_.backward(loss_);
    std::vector<std::vector<double>> expected(parameters_.size());
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      if (parameters_[j]) expected[j] = as_doubles(parameters_[j]->gradient(of_parameters));
    }
    const Gradients& gradients = graph_.backward(loss_, true);
    std::vector<std::vector<double>> analytic;
    for (std::size_t j = 0; j < arguments_.size(); ++j) {
      if (parameters_[j] == nullptr) {
        analytic.push_back(dynet_like::as_doubles(arguments_[j].gradient()));
        continue;
      }
      analytic.push_back(as_doubles(parameters_[j]->gradient(gradients)));
      ASSERT_EQ(analytic[j], expected[j]) << "input " << j << " differs with gradients of inputs";
    }
    for (std::size_t j = 0; j < arguments_.size(); ++j) {
      ASSERT_EQ(analytic[j].size(), arguments_[j].dim().size());
      if (!runs_slowly()) check_argument(j, analytic[j]);
    }
    for (std::uint64_t seed = 1; runs_slowly() && seed <= 2; ++seed) check_along(seed, analytic);
  }

 private:
  void check_argument(std::size_t j, const std::vector<double>& analytic) {
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      const double numeric = extrapolated([&](double step) { return moved_loss(j, i, step); });
      ASSERT_NEAR(analytic[i], numeric, kBound * std::max(1.0, std::abs(numeric)))
          << "element " << i << " of input " << j;
    }
  }

  // All elements of all arguments move at once, each by a multiple of its own.
  void check_along(std::uint64_t seed, const std::vector<std::vector<double>>& analytic) {
    Random random(seed);
    std::vector<std::vector<double>> direction, start;
    double slope = 0;
    for (std::size_t j = 0; j < analytic.size(); ++j) {
      direction.emplace_back(analytic[j].size());
      start.emplace_back();
      for (std::size_t i = 0; i < analytic[j].size(); ++i) {
        const double multiple = 1 + random.below(3);
        direction[j][i] = random.below(2) == 0 ? multiple : -multiple;
        start[j].push_back(element(j, i));
        slope += direction[j][i] * analytic[j][i];
      }
    }
    const auto moved = [&](double step) {
      for (std::size_t j = 0; j < start.size(); ++j) {
        for (std::size_t i = 0; i < start[j].size(); ++i) {
          set_element(j, i, start[j][i] + step * direction[j][i]);
        }
      }
      return loss();
    };
    const double numeric = extrapolated(moved, kStepAlong);
    moved(0);
    ASSERT_NEAR(slope, numeric, kBound * std::max(1.0, std::abs(numeric))) << "direction " << seed;
  }

  double element(std::size_t j, std::size_t i) const {
    return parameters_[j] == nullptr ? double{values_[j][i]} : parameters_[j]->tensor().at(i);
  }
  void set_element(std::size_t j, std::size_t i, double value) {
    if (parameters_[j] == nullptr) {
      values_[j][i] = static_cast<float>(value);
    } else {
      parameters_[j]->tensor().set(i, value);
    }
  }
  double moved_loss(std::size_t j, std::size_t i, double step) {
    const double x = element(j, i);
    set_element(j, i, x + step);
    const double result = loss();
    set_element(j, i, x);
    return result;
  }

  double loss() {
    graph_.invalidate();
    const Tensor losses = loss_.value();
    double total = 0;
    for (std::size_t i = 0; i < losses.d.size(); ++i) total += losses.at(i);
    return total;
  }

  static GraphOptions options() {
    GraphOptions options;
    options.dtype = DType::f64;
    options.seed = 5;
    return options;
  }

  ParameterCollection collection_{1, DType::f64};
  ComputationGraph graph_{options()};
  std::vector<std::vector<float>> values_;
  std::vector<std::unique_ptr<Argument>> parameters_;  // null: an input
  std::vector<Expression> arguments_;
  Expression loss_;
};

// All arrangements of up to three arguments. Of more, those of one kind, those in which the kinds
// follow each other, and those in which one argument alone is a parameter.
std::vector<Sources> arrangements(const OpCall& call) {
  const std::size_t n = call.inputs();
  std::vector<Sources> result;
  const auto kind = [](std::size_t number) { return static_cast<Source>(number % 3); };
  if (n <= 3) {
    std::size_t count = 1;
    for (std::size_t j = 0; j < n; ++j) count *= 3;
    for (std::size_t code = 0; code < count; ++code) {
      Sources sources;
      for (std::size_t j = 0, rest = code; j < n; ++j, rest /= 3) sources.push_back(kind(rest));
      result.push_back(sources);
    }
  } else {
    for (std::size_t k = 0; k < 3; ++k) {
      Sources mixed;
      for (std::size_t j = 0; j < n; ++j) mixed.push_back(kind(j + k));
      result.push_back(mixed);
      result.emplace_back(n, kind(k));
    }
    for (std::size_t j = 0; j < n; ++j) {
      result.emplace_back(n, Source::minibatch);
      result.back()[j] = Source::parameter;
    }
  }
  std::erase_if(result, [&](const Sources& sources) {  // a shared argument has no minibatch
    for (unsigned j = 0; j < n; ++j) {
      if (must_share(call, j) && sources[j] == Source::minibatch) return true;
    }
    return false;
  });
  return result;
}

class OpGradientTest : public ::testing::TestWithParam<OpCall> {};

INSTANTIATE_TEST_SUITE_P(All, OpGradientTest, ::testing::ValuesIn(calls_with_derivatives()),
                         name_of_call);

TEST_P(OpGradientTest, OfInputsAndParametersInEveryArrangement) {
  const std::vector<Sources> all = arrangements(GetParam());
  for (std::size_t i = 0; i < all.size(); i += runs_slowly() ? 2 : 1) {
    const Sources& sources = all[i];
    SCOPED_TRACE(name_of(sources));
    const bool minibatch = std::count(sources.begin(), sources.end(), Source::minibatch) > 0;
    Problem(GetParam(), sources, minibatch ? kMinibatch : 1).check();
    if (HasFatalFailure()) return;
  }
}

class OpNumbersGradientTest : public OpGradientTest {};

INSTANTIATE_TEST_SUITE_P(All, OpNumbersGradientTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return call.inputs() > 0 && call.op->gradient.is_derivative &&
                                  (call.op->numbers.reals > 0 ||
                                   (call.op->integers(call.shapes.attributes) > 0 &&
                                    !call.op->numbers.random));
                         })),
                         name_of_call);

// The numbers alone say how many items there are; every input serves all of them.
TEST_P(OpNumbersGradientTest, OfItemsThatOnlyNumbersTellApart) {
  for (Source source : {Source::input, Source::parameter}) {
    const Sources sources(GetParam().inputs(), source);
    SCOPED_TRACE(name_of(sources));
    Problem(GetParam(), sources, kMinibatch).check();
    if (HasFatalFailure()) return;
  }
}

class OpRepeatedGradientTest : public OpGradientTest {};

INSTANTIATE_TEST_SUITE_P(All, OpRepeatedGradientTest,
                         ::testing::ValuesIn(calls_where([](const OpCall& call) {
                           return call.inputs() > 1 &&
                                  std::count(call.shapes.inputs.begin(), call.shapes.inputs.end(),
                                             call.shapes.inputs[0]) ==
                                      std::ssize(call.shapes.inputs);
                         })),
                         name_of_call);

TEST_P(OpRepeatedGradientTest, OfOneArgumentInAllPlaces) {
  for (Source source : {Source::input, Source::minibatch, Source::parameter}) {
    const Sources sources(GetParam().inputs(), source);
    SCOPED_TRACE(name_of(sources));
    const std::size_t items = source == Source::minibatch ? kMinibatch : 1;
    Problem(GetParam(), sources, items, true).check();
    if (HasFatalFailure()) return;
  }
}

TEST(OpGradientTableTest, EveryOpWithInputsHasCases) {
  for (const Op* op : all_ops()) {
    if (!has_cases(*op)) continue;
    EXPECT_FALSE(good_cases(*op).empty()) << op->name;
  }
}

// Rows of anything: a table is not always one, and not always used by its rows alone.
TEST(LookupGradientTest, OfRowsOfWhateverIsGiven) {
  using Make = Expression (*)(ComputationGraph&, const LookupParameter&, const Parameter&);
  const std::pair<const char*, Make> makes[] = {
      {"table", [](auto& graph, auto& table, auto&) { return parameter(graph, table); }},
      {"matrix", [](auto& graph, auto&, auto& matrix) { return parameter(graph, matrix); }},
      {"derived", [](auto& graph, auto& table, auto&) { return tanh(parameter(graph, table)); }},
      {"longer rows",
       [](auto& graph, auto& table, auto&) {
         return reshape(parameter(graph, table), {6, 2});
       }},
      {"some rows", [](auto& graph, auto& table,
                       auto&) { return pick_range(parameter(graph, table), 1, 4, 1); }},
  };
  for (const auto& [name, make] : makes) {
    for (const bool used_as_whole : {false, true}) {
      SCOPED_TRACE(std::string(name) + (used_as_whole ? ", also as a whole" : ""));
      ParameterCollection collection(1, DType::f64);
      const LookupParameter table = collection.add_lookup_parameters(4, {3});
      const Parameter matrix = collection.add_parameters({3, 4});
      const auto loss = [&, &make = make](ComputationGraph& graph) {
        const Expression whole = make(graph, table, matrix);
        const Expression some = apply_op(ops::lookup, {whole}, {}, {1, 0, 1});
        const Expression of_rows = sum_elems(sum_batches(square(some)));
        return used_as_whole ? of_rows + sum_elems(square(whole)) : of_rows;
      };
      EXPECT_LT(check_gradients(collection, loss).error(), 1e-8);
    }
  }
}

}  // namespace
}  // namespace dynet_like::op_cases
