// Kernels against plain formulas and against each other, on every instruction set of this machine.
//
// Bounds, with epsilon = 2^-23 (float), 2^-52 (double):
// - values of double kernels against plain loops: 8 epsilon times the largest term of the item;
// - float kernels against double kernels: 4 epsilon, of the element itself for elementwise values,
//   else of the largest term of the item (or its gradient). Terms are the inputs' magnitudes put
//   through the same kernel: for a sum of products, the sum of their absolute values. Cells and
//   layer_norm, where errors of sums go through further functions: 16 epsilon;
// - over all floats and all doubles, in units in the last place: exp 1.1, log 1, tanh and
//   sigmoid 2.75, log_sigmoid and softplus 3, silu 6, gelu 8, softsign 1.5, sqrt 0.5. Results
//   below 64 times the smallest normal number may be other such numbers, such as 0, of some.
#include <array>
#include <bit>

#include "dynet_like/ops/special_formulas.h"
#include "tests/ops/cases.h"
#include "tests/ops/plain_formulas.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::op_cases {
namespace {

constexpr std::size_t kMost = 17;
constexpr int kStep = kSlowBuild ? 5 : 1;  // of items and numbers

// ------------------------------------------------------------------------ kernels of one op

template <class E>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<E>::epsilon());

// Where errors of sums go through further functions they grow.
double bound_of(const Op& op) {
  const bool goes_on = &op == &ops::lstm_cell || &op == &ops::gru_cell || &op == &ops::layer_norm ||
                       &op == &ops::rms_norm || &op == &elementwise<formulas::TanhOfSum>;
  return goes_on ? 16 : 4;
}

// Where terms cancel out: about as large as these are.
double least_scale(const Op& op) {
  if (&op == &ops::copy_log_softmax) return 1;
  return &op == &ops::sparsemax || &op == &ops::sparsemax_loss ? 2 : 0;
}

// The items with all inputs made positive, or the second of two negative for the sake of (a - b)^2.
std::vector<Item> magnitudes(const OpCall& call, std::vector<Item> items) {
  for (Item& item : items) {
    for (std::size_t j = 0; j < item.inputs.size(); ++j) {
      const bool negative = call.op == &ops::squared_distance && j == 1;
      for (double& x : item.inputs[j]) x = negative ? -std::abs(x) : std::abs(x);
    }
  }
  return items;
}

// The largest number among item i's `size` numbers of each vector.
template <class... Vectors>
double largest(std::size_t i, std::size_t size, const Vectors&... vectors) {
  double result = 0;
  const auto look = [&](const auto& vector) {
    for (std::size_t e = i * size; e < (i + 1) * size; ++e) {
      result = std::max(result, std::abs(static_cast<double>(vector[e])));
    }
  };
  (look(vectors), ...);
  return result;
}

class OpAccuracyTest : public ::testing::TestWithParam<OpCall> {};

INSTANTIATE_TEST_SUITE_P(All, OpAccuracyTest, ::testing::ValuesIn(all_calls()), name_of_call);

TEST_P(OpAccuracyTest, DoubleValuesArePlainFormulas) {
  const OpCall& call = GetParam();
  static const auto formulas = [] {
    auto all = plain_formulas();
    all.merge(plain_formula_ops());
    return all;
  }();
  const auto found = formulas.find(call.op->name);
  ASSERT_NE(found, formulas.end()) << "no plain formula for " << call.op->name;
  Random random(61);
  const std::vector<Item> items = draw_items(call, kMost, random);
  const std::vector<Item> terms = magnitudes(call, items);
  for (const KernelSet& set : kernel_sets()) {
    KernelCall<double> kernel(call, set, items, false), of_terms(call, set, terms, false);
    kernel.forward();
    of_terms.forward();
    const Signature& type = kernel.type();
    for (std::size_t i = 0; i < kMost; ++i) {
      Item item = items[i];
      if (call.op == &ops::lookup) item.inputs[0] = items[0].inputs[0];
      const double scale = std::max(least_scale(*call.op),
                                    largest(i, type.output_size, kernel.out(), of_terms.out()));
      for (std::size_t e = 0; e < type.output_size; ++e) {
        const double expected = found->second({type, item, index_of(type.output, e)});
        ASSERT_NEAR(kernel.out()[i * type.output_size + e], expected, 8 * kEpsilon<double> * scale)
            << set.target << ", element " << e << " of item " << i;
      }
    }
  }
}

// The same call in float and in double, and in double with magnitudes instead of numbers.
struct Triple {
  KernelCall<float> single;
  KernelCall<double> exact, terms;

  Triple(const OpCall& call, const KernelSet& set, const std::vector<Item>& items)
      : single(call, set, items, true),
        exact(call, set, items, true),
        terms(call, set, magnitudes(call, items), true) {
    single.forward();
    exact.forward();
    terms.forward();
  }
};

void check_values(const OpCall& call, const Triple& triple, std::size_t n) {
  const std::size_t size = triple.exact.type().output_size;
  for (std::size_t i = 0; i < n; ++i) {
    const double scale =
        std::max(least_scale(*call.op), largest(i, size, triple.exact.out(), triple.terms.out()));
    for (std::size_t e = i * size; e < (i + 1) * size; ++e) {
      const double exact = triple.exact.out()[e];
      const double bound =
          is_elementwise(*call.op) ? 4 * std::abs(exact) : bound_of(*call.op) * scale;
      ASSERT_NEAR(static_cast<double>(triple.single.out()[e]), exact, bound * kEpsilon<float>)
          << "element " << e - i * size << " of item " << i << " of " << n;
    }
  }
}

void check_gradients(const OpCall& call, Triple& triple, std::size_t n,
                     const std::vector<double>& dy) {
  std::vector<double> dy_terms = dy;
  for (double& x : dy_terms) x = std::abs(x);
  const auto single = triple.single.backward(converted<float>(dy));
  const auto exact = triple.exact.backward(dy);
  const auto terms = triple.terms.backward(dy_terms);
  const std::size_t out_size = triple.exact.type().output_size;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    const std::size_t size = triple.exact.type().inputs[j].size();
    for (std::size_t i = 0; i < n; ++i) {
      const double scale = std::max(largest(i, size, exact[j], terms[j]), largest(i, out_size, dy));
      for (std::size_t e = i * size; e < (i + 1) * size; ++e) {
        ASSERT_NEAR(static_cast<double>(single[j][e]), exact[j][e],
                    bound_of(*call.op) * kEpsilon<float> * scale)
            << "gradient " << e - i * size << " of input " << j << ", item " << i << " of " << n;
      }
    }
  }
}

TEST_P(OpAccuracyTest, FloatIsCloseToDouble) {
  const OpCall& call = GetParam();
  for (const KernelSet& set : kernel_sets()) {
    for (std::size_t n = 1; n <= kMost; n += kStep) {
      SCOPED_TRACE(set.target);
      Random random(71 + n);
      Triple triple(call, set, draw_items(call, n, random, Digits::of_float));
      check_values(call, triple, n);
      const std::size_t size = triple.exact.type().output_size;
      if (call.inputs() > 0) check_gradients(call, triple, n, draw_weights(n * size, random));
      if (HasFatalFailure()) return;
    }
  }
}

// Gradients go to items one behind the other, so the bytes of one item stand together.
template <class E>
void expect_same_kernel_bytes(const OpCall& call, const KernelSet& set, bool share_inputs) {
  Random random(51);
  const std::vector<Item> items = draw_items(call, kMost, random);
  const std::size_t size = signature_of(call, dtype_of<E>).output_size;
  const auto dy = converted<E>(draw_weights(kMost * size, random));
  const auto same = [&](const std::vector<E>& all, std::size_t i, const std::vector<E>& one) {
    return std::memcmp(all.data() + i * one.size(), one.data(), one.size() * sizeof(E)) == 0;
  };
  for (std::size_t n = 2; n <= kMost; n += kStep) {
    KernelCall<E> batch(call, set, std::span(items).first(n), share_inputs);
    batch.forward();
    const auto dx = batch.backward(dy);
    for (std::size_t i = 0; i < n; ++i) {
      Item item = items[i];
      for (unsigned j = 0; j < call.inputs(); ++j) {
        const bool shared =
            share_inputs && call.op->joins(j, call.shapes.attributes) != Join::stacked;
        if (shared || must_share(call, j)) item.inputs[j] = items[0].inputs[j];
      }
      KernelCall<E> alone(call, set, std::span(&item, 1), share_inputs);
      ASSERT_TRUE(same(batch.out(), i, alone.forward())) << "value of item " << i << " of " << n;
      const auto begin = dy.begin() + static_cast<std::ptrdiff_t>(i * size);
      const auto dx_alone = alone.backward({begin, begin + static_cast<std::ptrdiff_t>(size)});
      for (std::size_t j = 0; j < dx.size(); ++j) {
        ASSERT_TRUE(same(dx[j], i, dx_alone[j]))
            << "input " << j << " of item " << i << " of " << n;
      }
    }
  }
}

class OpItemAccuracyTest : public OpAccuracyTest {};

INSTANTIATE_TEST_SUITE_P(All, OpItemAccuracyTest, ::testing::ValuesIn(calls_with_inputs()),
                         name_of_call);

TEST_P(OpItemAccuracyTest, SameBytesInABatchAsAlone) {
  for (const KernelSet& set : kernel_sets()) {
    for (const bool share_inputs : {false, true}) {
      SCOPED_TRACE(set.target + (share_inputs ? ", shared" : ", own"));
      expect_same_kernel_bytes<float>(GetParam(), set, share_inputs);
      expect_same_kernel_bytes<double>(GetParam(), set, share_inputs);
      if (HasFatalFailure()) return;
    }
  }
}

// ------------------------------------------------------------------- functions, over all numbers

// How many units in the last place of its type (denormals: of the smallest number) they differ.
template <class E>
double ulps_between(E got, long double exact) {
  const E nearest = static_cast<E>(exact);
  if (got == nearest) return 0;
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (!std::isfinite(got) || !std::isfinite(nearest)) return kWrong;
  const E size = std::max(std::abs(nearest), std::numeric_limits<E>::min());
  const E ulp = std::nextafter(size, std::numeric_limits<E>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / ulp);
}

/// An elementwise op of one input.
struct Function {
  std::string_view op;
  double bound;             ///< in ulp
  bool underflows = false;  ///< tiny results may be other tiny numbers
  long double exact(long double x) const { return plain_elementwise().at(op).value(x, 0, 1); }
};
void PrintTo(const Function& function, std::ostream* out) { *out << function.op; }

template <class E>
std::vector<E> all_kinds_of_numbers() {
  using Bits = std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint64_t>;
  std::vector<E> numbers;
  const auto add = [&](E x) {
    for (E y : {x, std::nextafter(x, E(1e30)), std::nextafter(x, E(-1e30))}) {
      numbers.push_back(y);
      numbers.push_back(-y);
    }
  };
  // Every exponent, many mantissas; then densely where the functions bend and end.
  const Bits step = (~Bits{0} >> 17) - 566;  // no power of 2
  for (Bits i = 0; i < (1u << 17); i += kStep) numbers.push_back(std::bit_cast<E>(i * step));
  for (int i = -120'000; i <= 120'000; i += kStep) numbers.push_back(static_cast<E>(i * 1e-3));
  for (int i = -8'000; i <= 8'000; i += kStep) numbers.push_back(static_cast<E>(i * 0.1));
  for (double edge : {0.0, 1.0, 0.5, 20.0, 88.7228317, 87.33654, 103.97, 104.0, 709.782712893384,
                      708.396, 745.13, 1e-30, 1e-38, 3e38}) {
    add(static_cast<E>(edge));
  }
  using Limits = std::numeric_limits<E>;
  for (E x : {Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min(),
              Limits::quiet_NaN()}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

template <class E>
std::vector<E> apply_kernel(const KernelSet& set, std::string_view op, const std::vector<E>& x) {
  const auto found = std::find_if(all_ops().begin(), all_ops().end(),
                                  [&](const Op* each) { return each->name == op; });
  const OpCall call{*found, {{Dim({static_cast<unsigned>(x.size())})}}, std::string(op)};
  Item item;
  item.inputs.emplace_back(x.begin(), x.end());
  item.reals.assign((*found)->numbers.reals, 1.0);
  return KernelCall<E>(call, set, std::span(&item, 1), false).forward();
}

// The error of a result in ulp, infinite where it is of another kind: no NaN, no zero of that sign.
template <class E>
double error_of(const Function& function, E x, E result) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const long double exact = function.exact(x);
  if (std::isnan(exact)) return std::isnan(result) ? 0 : kWrong;
  const bool has_sign = function.underflows || std::signbit(result) == std::signbit(exact);
  if (exact == 0) return result == 0 && has_sign ? 0 : kWrong;
  // gelu multiplies a probability that is no normal number with up to 40.
  constexpr E kSmall = 64 * std::numeric_limits<E>::min();
  if (function.underflows && std::abs(exact) < kSmall && std::abs(result) < kSmall) return 0;
  return ulps_between(result, exact);
}

class FunctionTest : public ::testing::TestWithParam<Function> {
 protected:
  template <class E>
  void check() {
    static const std::vector<E> numbers = all_kinds_of_numbers<E>();
    for (const KernelSet& set : kernel_sets()) {
      const std::vector<E> results = apply_kernel(set, GetParam().op, numbers);
      std::pair<double, std::size_t> worst = {0, 0};
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        worst = std::max(worst, {error_of(GetParam(), numbers[i], results[i]), i});
      }
      EXPECT_LE(worst.first, GetParam().bound)
          << set.target << ": " << results[worst.second] << " for x = " << std::hexfloat
          << numbers[worst.second];
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, FunctionTest,
                         ::testing::Values(Function{"exp", 1.1}, Function{"log", 1},
                                           Function{"tanh", 2.75}, Function{"sigmoid", 2.75, true},
                                           Function{"log_sigmoid", 3, true},
                                           Function{"silu", 6, true}, Function{"gelu", 8, true},
                                           Function{"softplus", 3, true}, Function{"softsign", 1.5},
                                           Function{"sqrt", 0.5}),
                         [](const auto& info) { return std::string(info.param.op); });

TEST_P(FunctionTest, Floats) { check<float>(); }
TEST_P(FunctionTest, Doubles) { check<double>(); }

}  // namespace
}  // namespace dynet_like::op_cases
