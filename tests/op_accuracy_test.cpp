// Kernels against plain formulas and against each other, on every instruction set of this machine.
//
// Bounds, with epsilon = 2^-23 (float), 2^-52 (double):
// - values of double kernels against plain loops: 8 epsilon times the largest term of the item;
// - float kernels against double kernels: 4 epsilon, of the element itself for elementwise values,
//   else of the largest term of the item (or its gradient). Terms are the inputs' magnitudes put
//   through the same kernel: for a sum of products, the sum of their absolute values. Cells, where
//   errors of sums go through further functions: 16 epsilon;
// - over all floats and all doubles, in units in the last place: exp 1.1, log 1, tanh and
//   logistic 2.75, sqrt 0.5. logistic may be 0 where the result is no normal number.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <functional>
#include <map>
#include <memory>

#include "dynet_like/ops/elementwise.h"
#include "tests/op_cases.h"
#include "tests/plain_cells.h"

namespace dynet_like::op_cases {
namespace {

constexpr std::size_t kMost = 17;

// ------------------------------------------------------------------------------ plain formulas

using Index = std::array<unsigned, Dim::kMaxDimensions>;

Index index_of(const Dim& dim, std::size_t element) {
  Index index{};
  for (unsigned i = 0; i < dim.nd; ++i) {
    index[i] = static_cast<unsigned>(element % dim.d[i]);
    element /= dim.d[i];
  }
  return index;
}

// Dimensions of size 1 stretch.
std::size_t element_of(const Dim& dim, const Index& index) {
  std::size_t element = 0;
  for (unsigned i = dim.nd; i-- > 0;) element = element * dim.d[i] + (dim.d[i] == 1 ? 0 : index[i]);
  return element;
}

// Element `index` of the output, as anybody would write it down.
using Plain = std::function<double(const Signature&, const Item&, const Index&)>;

double at(const Signature& type, const Item& item, std::size_t input, const Index& index) {
  return item.inputs[input][element_of(type.inputs[input], index)];
}

double sum_of_products(const Signature& type, const Item& item, const Index& index) {
  const std::size_t first = type.inputs.size() % 2;
  double total = first == 1 ? at(type, item, 0, index) : 0;
  for (std::size_t w = first; w < type.inputs.size(); w += 2) {
    for (unsigned k = 0; k < type.inputs[w].cols(); ++k) {
      total += at(type, item, w, {index[0], k}) * at(type, item, w + 1, {k, index[1]});
    }
  }
  return total;
}

double sum_of_inputs(const Signature& type, const Item& item, const Index& index) {
  double total = 0;
  for (std::size_t j = 0; j < type.inputs.size(); ++j) total += at(type, item, j, index);
  return total;
}

// The sum of f(x) along dimension d, at the other places of `index`.
template <class F>
double along(const Signature& type, const Item& item, Index index, unsigned d, F&& f) {
  double total = 0;
  for (index[d] = 0; index[d] < type.inputs[0][d]; ++index[d]) total += f(at(type, item, 0, index));
  return total;
}

double sum_along(const Signature& type, const Item& item, const Index& index) {
  const unsigned d = type.attributes[0];
  Index whole{};
  for (unsigned i = 0; i + 1 < Dim::kMaxDimensions; ++i) whole[i < d ? i : i + 1] = index[i];
  return along(type, item, whole, d, [](double x) { return x; });
}

double log_of_softmax(const Signature& type, const Item& item, const Index& index) {
  const double total =
      along(type, item, index, type.attributes[0], [](double x) { return std::exp(x); });
  return at(type, item, 0, index) - std::log(total);
}

double concatenated(const Signature& type, const Item& item, Index index) {
  const unsigned d = type.attributes[0];
  std::size_t j = 0;
  for (; index[d] >= type.inputs[j][d]; ++j) index[d] -= type.inputs[j][d];
  return at(type, item, j, index);
}

double picked(const Signature& type, const Item& item, Index index) {
  index[type.attributes[0]] += item.integers[0];
  return at(type, item, 0, index);
}

double transposed(const Signature& type, const Item& item, const Index& index) {
  Index from{};
  for (std::size_t i = 0; i < type.attributes.size(); ++i) from[type.attributes[i]] = index[i];
  return at(type, item, 0, from);
}

double dropped(const Signature& type, const Item& item, const Index& index) {
  const RandomStream stream(KernelCall<double>::kKey, item.integers[0], item.integers[1]);
  const std::size_t word = item.integers[2] + element_of(type.output, index);
  const bool kept = unit_interval(stream.block(word / 4)[word % 4]) >= item.reals[0];
  return kept ? at(type, item, 0, index) / (1 - item.reals[0]) : 0;
}

double sum_of_pairs(const Item& item, double (*f)(double, double)) {
  double total = 0;
  for (std::size_t e = 0; e < item.inputs[0].size(); ++e) {
    total += f(item.inputs[0][e], item.inputs[1][e]);
  }
  return total;
}

double loss_of_class(const Item& item) {
  double total = 0;
  for (double x : item.inputs[0]) total += std::exp(x);
  return std::log(total) - item.inputs[0][item.integers[0]];
}

template <class F>
double elementwise_plain(const Signature& type, const Item& item, const Index& index) {
  const double a = at(type, item, 0, index);
  if constexpr (F::inputs == 2) {
    return F::value(a, at(type, item, 1, index));
  } else if constexpr (F::reals == 1) {
    return F::value(a, item.reals[0]);
  } else {
    return F::value(a);
  }
}

std::map<std::string_view, Plain> plain_formulas() {
  using Type = const Signature&;
  std::map<std::string_view, Plain> all = {
      {"constant", [](Type, const Item& item, const Index&) { return item.reals[0]; }},
      {"lookup",
       [](Type type, const Item& item, Index index) {
         index[type.output.nd] = item.integers[0];
         return at(type, item, 0, index);
       }},
      {"matrix_product", sum_of_products},
      {"affine_transform", sum_of_products},
      {"dot_product",
       [](Type, const Item& item, const Index&) {
         return sum_of_pairs(item, [](double a, double b) { return a * b; });
       }},
      {"squared_distance",
       [](Type, const Item& item, const Index&) {
         return sum_of_pairs(item, [](double a, double b) { return (a - b) * (a - b); });
       }},
      {"lstm_cell", [](Type type, const Item& item,
                       const Index& index) { return plain_lstm_cell(type, item, index[0]); }},
      {"gru_cell", [](Type type, const Item& item,
                      const Index& index) { return plain_gru_cell(type, item, index[0]); }},
      {"sum", sum_of_inputs},
      {"average",
       [](Type type, const Item& item, const Index& index) {
         return sum_of_inputs(type, item, index) / static_cast<double>(type.inputs.size());
       }},
      {"sum_dim", sum_along},
      {"mean_dim",
       [](Type type, const Item& item, const Index& index) {
         return sum_along(type, item, index) / type.inputs[0][type.attributes[0]];
       }},
      {"identity",
       [](Type type, const Item& item, const Index& index) { return at(type, item, 0, index); }},
      {"concatenate", concatenated},
      {"pick_range", picked},
      {"transpose", transposed},
      {"softmax", [](Type type, const Item& item,
                     const Index& index) { return std::exp(log_of_softmax(type, item, index)); }},
      {"log_softmax", log_of_softmax},
      {"pickneglogsoftmax",
       [](Type, const Item& item, const Index&) { return loss_of_class(item); }},
      {"dropout", dropped}};
  formulas::ElementwiseFormulas::visit(
      [&]<class F>() { all.emplace(F::name, elementwise_plain<F>); });
  return all;
}

// ------------------------------------------------------------------------ kernels of one op

template <class E>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<E>::epsilon());

bool is_elementwise(const Op& op) {
  bool found = false;
  formulas::ElementwiseFormulas::visit([&]<class F>() { found |= op.name == F::name; });
  return found;
}

// Errors of a cell's sums go through further functions.
double bound_of(const Op& op) { return &op == &ops::lstm_cell || &op == &ops::gru_cell ? 16 : 4; }

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
  static const auto formulas = plain_formulas();
  const auto found = formulas.find(call.op->name);
  ASSERT_NE(found, formulas.end()) << "no plain formula for " << call.op->name;
  Random random(61);
  const std::vector<Item> items = draw_items(call, kMost, random);
  const std::vector<Item> terms = magnitudes(call, items);
  for (const KernelSet& set : kernel_sets()) {
    KernelCall<double> kernel(call, set.of(call), items, false),
        of_terms(call, set.of(call), terms, false);
    kernel.forward();
    of_terms.forward();
    const Signature& type = kernel.type();
    for (std::size_t i = 0; i < kMost; ++i) {
      Item item = items[i];
      if (call.op == &ops::lookup) item.inputs[0] = items[0].inputs[0];
      const double scale = largest(i, type.output_size, kernel.out(), of_terms.out());
      for (std::size_t e = 0; e < type.output_size; ++e) {
        const double expected = found->second(type, item, index_of(type.output, e));
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
      : single(call, set.of(call), items, true),
        exact(call, set.of(call), items, true),
        terms(call, set.of(call), magnitudes(call, items), true) {
    single.forward();
    exact.forward();
    terms.forward();
  }
};

void check_values(const OpCall& call, const Triple& triple, std::size_t n) {
  const std::size_t size = triple.exact.type().output_size;
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = largest(i, size, triple.exact.out(), triple.terms.out());
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
    for (std::size_t n = 1; n <= kMost; ++n) {
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
  for (std::size_t n = 2; n <= kMost; ++n) {
    KernelCall<E> batch(call, set.of(call), std::span(items).first(n), share_inputs);
    batch.forward();
    const auto dx = batch.backward(dy);
    for (std::size_t i = 0; i < n; ++i) {
      Item item = items[i];
      for (unsigned j = 0; j < call.inputs(); ++j) {
        const bool shared =
            share_inputs && call.op->joins(j, call.shapes.attributes) != Join::stacked;
        if (shared || must_share(call, j)) item.inputs[j] = items[0].inputs[j];
      }
      KernelCall<E> alone(call, set.of(call), std::span(&item, 1), share_inputs);
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

struct Function {
  const char* op;
  long double (*exact)(long double);
  double bound;             ///< in ulp
  bool underflows = false;  ///< results that are no normal numbers may be zero instead
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
  for (Bits bits = 0, i = 0; i < (1u << 17); ++i, bits += step) {
    numbers.push_back(std::bit_cast<E>(bits));
  }
  for (int i = -120'000; i <= 120'000; ++i) numbers.push_back(static_cast<E>(i * 1e-3));
  for (int i = -8'000; i <= 8'000; ++i) numbers.push_back(static_cast<E>(i * 0.1));
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
std::vector<E> apply_kernel(const KernelSet& set, const char* op, const std::vector<E>& x) {
  const auto found = std::find_if(all_ops().begin(), all_ops().end(),
                                  [&](const Op* each) { return each->name == op; });
  const OpCall call{*found, {{Dim({static_cast<unsigned>(x.size())})}}, op};
  Item item;
  item.inputs.emplace_back(x.begin(), x.end());
  return KernelCall<E>(call, set.of(call), std::span(&item, 1), false).forward();
}

// The error of a result in ulp, infinite where it is of another kind: no NaN, no zero of that sign.
template <class E>
double error_of(const Function& function, E x, E result) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const long double exact = function.exact(x);
  if (std::isnan(exact)) return std::isnan(result) ? 0 : kWrong;
  if (exact == 0) return result == 0 && std::signbit(result) == std::signbit(exact) ? 0 : kWrong;
  const bool is_normal = std::abs(exact) >= std::numeric_limits<E>::min();
  if (function.underflows && result == 0 && !is_normal) return 0;
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

long double plain_logistic(long double x) { return 1 / (1 + std::exp(-x)); }

INSTANTIATE_TEST_SUITE_P(
    All, FunctionTest,
    ::testing::Values(Function{"exp", [](long double x) { return std::exp(x); }, 1.1},
                      Function{"log", [](long double x) { return std::log(x); }, 1},
                      Function{"tanh", [](long double x) { return std::tanh(x); }, 2.75},
                      Function{"logistic", plain_logistic, 2.75, true},
                      Function{"sqrt", [](long double x) { return std::sqrt(x); }, 0.5}),
    [](const auto& info) { return std::string(info.param.op); });

TEST_P(FunctionTest, Floats) { check<float>(); }
TEST_P(FunctionTest, Doubles) { check<double>(); }

}  // namespace
}  // namespace dynet_like::op_cases
