// Functions of spans for kernels of one's own: values of the operations of these names, the same
// bits wherever an element stands, on every instruction set.
#include "dynet_like/device/span_math.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/targets.h"

namespace dynet_like {
namespace {

template <class E>
using SpanFunction = void (*)(std::span<const E>, std::span<E>);

struct Function {
  const char* name;
  SpanFunction<float> floats;
  SpanFunction<double> doubles;
  long double (*plain)(long double);
};

const Function kFunctions[] = {
    {"exp", ops::exp, ops::exp, [](long double x) { return std::exp(x); }},
    {"log", ops::log, ops::log, [](long double x) { return std::log(x); }},
    {"tanh", ops::tanh, ops::tanh, [](long double x) { return std::tanh(x); }},
    {"sigmoid", ops::sigmoid, ops::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }}};

template <class E>
void expect_plain_values_wherever(const Function& function, SpanFunction<E> call) {
  std::vector<E> x(200);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<E>(0.05 + i * 0.037);
  std::vector<E> all(x.size());
  call(x, all);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double expected = function.plain(static_cast<long double>(x[i]));
    const long double bound = 4 * std::numeric_limits<E>::epsilon() * std::abs(expected);
    ASSERT_NEAR(static_cast<double>(all[i]), static_cast<double>(expected),
                static_cast<double>(bound))
        << function.name << " of " << x[i];
  }
  for (std::size_t first = 0; first < 70; ++first) {
    for (std::size_t n : {1, 2, 3, 7, 16, 31, 64, 130}) {
      std::vector<E> some(x.begin() + first, x.begin() + first + n);
      some.push_back(E(-77));
      call(std::span(some).first(n), std::span(some).first(n));  // in place
      ASSERT_TRUE(std::equal(some.begin(), some.end() - 1, all.begin() + first))
          << function.name << ": " << n << " from " << first;
      ASSERT_EQ(some.back(), E(-77)) << "it wrote behind the span";
    }
  }
}

TEST(SpanMathTest, ValuesAreTheSameWhereverTheyStand) {
  with_every_target([] {
    for (const Function& function : kFunctions) {
      expect_plain_values_wherever<float>(function, function.floats);
      expect_plain_values_wherever<double>(function, function.doubles);
    }
  });
}

TEST(SpanMathTest, NeedsSpansOfOneSize) {
  std::vector<float> three(3), two(2);
  expect_refused<UsageError>("[exp] need spans of one size; got 3 and 2",
                             [&] { ops::exp(three, two); });
  std::vector<double> none;
  ops::tanh(none, none);
}

}  // namespace
}  // namespace dynet_like
