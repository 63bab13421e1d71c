// The passes over parameters against plain loops, to the bit, on every instruction set and at every
// size around the width of vectors.
#include "tests/support/precompiled.h"
#include "tests/support/same_bytes.h"
#include "tests/support/targets.h"

namespace dynet_like {
namespace {

constexpr double kRate = 0.013, kScale = 0.37, kShare = 0.9375;
constexpr float kMomentum = 0.9f, kRho = 0.95f, kEpsilon = 1e-6f;
constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f;

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all = {127, 128, 129, 1000};
  for (std::size_t n = 0; n <= 70; ++n) all.push_back(n);
  return all;
}

template <class E>
struct State {
  std::vector<E> w, m, v, top, g;

  explicit State(std::size_t n) {
    Random random(n);
    for (std::vector<E>* part : {&w, &m, &v, &top, &g}) {
      for (std::size_t i = 0; i < n; ++i) part->push_back(static_cast<E>(random.normal()));
    }
    for (E& x : v) x = std::abs(x);
    for (E& x : top) x = std::abs(x);
  }
};

template <class E>
double sum_of_squares(const E* x, std::size_t n) {
  const Stretch all = {x, n};
  return cpu_updates().sum_of_squares(dtype_of<E>, std::span(&all, 1));
}

template <class E>
using Part = std::vector<E> State<E>::*;

/// Expects that an update of w, with these moments, is a plain loop over `step(state, i)`.
template <class E, class Step>
void expect_plain_loop(const UpdateFormula& formula, std::initializer_list<Part<E>> moments,
                       const Step& step) {
  with_every_target([&] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      Elements all;
      all.dtype = dtype_of<E>;
      all.count = n;
      all.values = got.w.data();
      all.gradient = got.g.data();
      void** place = all.moments;
      for (const Part<E> moment : moments) *place++ = (got.*moment).data();
      cpu_updates().apply(formula, std::span(&all, 1), {kRate, kScale});
      for (std::size_t i = 0; i < n; ++i) step(expected, i);
      for (const Part<E> part : {&State<E>::w, &State<E>::m, &State<E>::v, &State<E>::top}) {
        ASSERT_TRUE(same_bytes(got.*part, expected.*part)) << n << " elements";
      }
    }
  });
}

template <class E>
class UpdatesTest : public ::testing::Test {
 protected:
  static constexpr E rate = static_cast<E>(kRate), scale = static_cast<E>(kScale);
  static constexpr E rho = static_cast<E>(kRho), epsilon = static_cast<E>(kEpsilon);
  static constexpr E b1 = static_cast<E>(kBeta1), b2 = static_cast<E>(kBeta2);
};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(UpdatesTest, ElementTypes);

TYPED_TEST(UpdatesTest, ArePlainLoops) {
  using E = TypeParam;
  using Its = UpdatesTest<E>;
  using S = State<E>;
  expect_plain_loop<E>({Descend()}, {},
                       [](S& s, std::size_t i) { s.w[i] -= Its::rate * (Its::scale * s.g[i]); });
  expect_plain_loop<E>({DescendWithMomentum(), kMomentum}, {&S::m}, [](S& s, std::size_t i) {
    s.m[i] = static_cast<E>(kMomentum) * s.m[i] + Its::rate * (Its::scale * s.g[i]);
    s.w[i] -= s.m[i];
  });
  for (const bool keeps_top : {false, true}) {
    const auto step = [=](S& s, std::size_t i) {
      const E h = Its::scale * s.g[i];
      s.m[i] = Its::b1 * s.m[i] + (1 - Its::b1) * h;
      s.v[i] = Its::b2 * s.v[i] + (1 - Its::b2) * (h * h);
      if (keeps_top) s.top[i] = std::max(s.top[i], s.v[i]);
      s.w[i] -= Its::rate * s.m[i] / (std::sqrt(keeps_top ? s.top[i] : s.v[i]) + Its::epsilon);
    };
    keeps_top
        ? expect_plain_loop<E>({Amsgrad(), kBeta1, kBeta2, kEpsilon}, {&S::m, &S::v, &S::top}, step)
        : expect_plain_loop<E>({Adam(), kBeta1, kBeta2, kEpsilon}, {&S::m, &S::v}, step);
  }
  for (const bool decays : {false, true}) {
    const auto step = [=](S& s, std::size_t i) {
      const E h = Its::scale * s.g[i];
      s.v[i] = decays ? Its::rho * s.v[i] + (1 - Its::rho) * (h * h) : s.v[i] + h * h;
      s.w[i] -= Its::rate * h / std::sqrt(s.v[i] + Its::epsilon);
    };
    decays ? expect_plain_loop<E>({RmsProp(), 0, kRho, kEpsilon}, {&S::v}, step)
           : expect_plain_loop<E>({Adagrad(), 0, 0, kEpsilon}, {&S::v}, step);
  }
  const auto adadelta = [](S& s, std::size_t i) {
    const E h = Its::scale * s.g[i];
    s.v[i] = Its::rho * s.v[i] + (1 - Its::rho) * (h * h);
    const E x = h * std::sqrt(s.top[i] + Its::epsilon) / std::sqrt(s.v[i] + Its::epsilon);
    s.top[i] = Its::rho * s.top[i] + (1 - Its::rho) * (x * x);
    s.w[i] -= Its::rate * x;
  };
  expect_plain_loop<E>({Adadelta(), 0, kRho, kEpsilon}, {&S::v, &S::top}, adadelta);
}

TYPED_TEST(UpdatesTest, ScaleAndAverageArePlainLoops) {
  using E = TypeParam;
  const std::vector<double> factors = {kScale, 1.1, 0.3};
  with_every_target([&] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      Elements all;
      all.dtype = dtype_of<E>;
      all.count = n;
      all.values = got.w.data();
      cpu_updates().scale(all, factors);
      for (std::size_t i = 0; i < n; ++i) {
        if (i % 5 == 1) expected.m[i] = got.m[i] = -std::numeric_limits<E>::infinity();
        if (i % 3 == 1) expected.g[i] = got.g[i] = -std::numeric_limits<E>::infinity();
      }
      const Pair pair = {got.m.data(), got.g.data(), n, kShare};
      cpu_updates().average(dtype_of<E>, std::span(&pair, 1));
      for (std::size_t i = 0; i < n; ++i) {
        E& m = expected.m[i];
        for (const double factor : factors) expected.w[i] *= static_cast<E>(factor);
        m += static_cast<E>(kShare) * (std::isinf(m) ? expected.g[i] : expected.g[i] - m);
        ASSERT_FALSE(std::isnan(m));
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.m, expected.m)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, FindsWhatIsNotBelowALimit) {
  using E = TypeParam;
  using Limits = std::numeric_limits<E>;
  with_every_target([] {
    for (const std::size_t n : sizes()) {
      State<E> state(n);
      for (E& x : state.g) x = x < 0 ? Limits::lowest() : x < 1 ? Limits::denorm_min() : x;
      const double infinity = std::numeric_limits<double>::infinity();
      const auto all_below = [](const std::vector<E>& x, double limit) {
        const Stretch all = {x.data(), x.size()};
        return cpu_updates().all_below(dtype_of<E>, std::span(&all, 1), limit);
      };
      ASSERT_TRUE(all_below(state.g, infinity)) << n << " elements";
      for (std::size_t i = 0; i<n; i += n> 70 ? 13 : 1) {
        for (const E bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
          std::vector<E> x = state.g;
          x[i] = bad;
          ASSERT_FALSE(all_below(x, infinity)) << i << " of " << n;
          ASSERT_FALSE(std::isfinite(sum_of_squares(x.data(), n)));
        }
        for (const E large : {E{8}, E{-8}}) {
          std::vector<E> x(n, -7);
          x[i] = large;
          ASSERT_FALSE(all_below(x, 8)) << i << " of " << n;
          ASSERT_TRUE(all_below(x, 8.5)) << i << " of " << n;
        }
      }
    }
  });
}

// Terms are exact (float) or off by half a unit; sums of n of them by less than n units.
TYPED_TEST(UpdatesTest, SumsSquares) {
  using E = TypeParam;
  with_every_target([] {
    for (const std::size_t n : sizes()) {
      State<E> state(n + 1);
      long double exact = 0;
      for (std::size_t i = 0; i < n; ++i) {
        exact += static_cast<long double>(state.g[i]) * static_cast<long double>(state.g[i]);
      }
      const double sum = sum_of_squares(state.g.data(), n);
      const double bound = static_cast<double>(exact) * 0x1p-53 * (static_cast<double>(n) + 1);
      ASSERT_NEAR(sum, static_cast<double>(exact), bound) << n << " elements";
      // The order of the sum does not depend on where the numbers lie.
      std::vector<E> moved(n + 1);
      std::copy_n(state.g.begin(), n, moved.begin() + 1);
      ASSERT_EQ(sum_of_squares(moved.data() + 1, n), sum) << n;
    }
  });
}

}  // namespace
}  // namespace dynet_like
