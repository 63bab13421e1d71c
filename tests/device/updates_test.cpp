// The passes over parameters against plain loops, to the bit, on every instruction set and at every
// size around the width of vectors.
#include "dynet_like/device/updates.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "dynet_like/core/random.h"

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

// An update of w, whose moments are these.
template <class E>
void apply(const UpdateFormula& formula, State<E>& state,
           std::initializer_list<std::vector<E>*> moments = {}) {
  Elements all;
  all.dtype = dtype_of<E>;
  all.count = state.w.size();
  all.values = state.w.data();
  all.gradient = state.g.data();
  void** place = all.moments;
  for (std::vector<E>* const moment : moments) *place++ = moment->data();
  cpu_updates().apply(formula, std::span(&all, 1), {kRate, kScale});
}

template <class E>
double sum_of_squares(const E* x, std::size_t n) {
  const Stretch all = {x, n};
  return cpu_updates().sum_of_squares(dtype_of<E>, std::span(&all, 1));
}

template <class E>
bool same_bytes(const std::vector<E>& a, const std::vector<E>& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(E)) == 0;
}

// f() with every instruction set of this machine.
template <class F>
void on_every_target(F&& f) {
  const auto supported = static_cast<std::uint64_t>(hwy::SupportedTargets());
  for (std::uint64_t allowed = supported; allowed != 0; allowed &= allowed - 1) {
    hwy::GetChosenTarget().Update(static_cast<std::int64_t>(allowed));
    SCOPED_TRACE(hwy::TargetName(static_cast<std::int64_t>(allowed & (~allowed + 1))));
    f();
  }
  hwy::GetChosenTarget().Update(static_cast<std::int64_t>(supported));
}

template <class E>
class UpdatesTest : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(UpdatesTest, ElementTypes);

TYPED_TEST(UpdatesTest, DescendIsAPlainLoop) {
  using E = TypeParam;
  on_every_target([] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      apply({Descend()}, got);
      for (std::size_t i = 0; i < n; ++i) {
        expected.w[i] -= static_cast<E>(kRate) * (static_cast<E>(kScale) * expected.g[i]);
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, MomentumIsAPlainLoop) {
  using E = TypeParam;
  on_every_target([] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      apply({DescendWithMomentum(), kMomentum}, got, {&got.m});
      for (std::size_t i = 0; i < n; ++i) {
        const E step = static_cast<E>(kRate) * (static_cast<E>(kScale) * expected.g[i]);
        expected.m[i] = static_cast<E>(kMomentum) * expected.m[i] + step;
        expected.w[i] -= expected.m[i];
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.m, expected.m)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, AdamIsAPlainLoop) {
  using E = TypeParam;
  const E b1 = static_cast<E>(kBeta1), b2 = static_cast<E>(kBeta2);
  on_every_target([&] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      apply({Adam(), kBeta1, kBeta2, kEpsilon}, got, {&got.m, &got.v});
      for (std::size_t i = 0; i < n; ++i) {
        const E h = static_cast<E>(kScale) * expected.g[i];
        E &m = expected.m[i], &v = expected.v[i];
        m = b1 * m + (1 - b1) * h;
        v = b2 * v + (1 - b2) * (h * h);
        expected.w[i] -= static_cast<E>(kRate) * m / (std::sqrt(v) + static_cast<E>(kEpsilon));
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.m, expected.m)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.v, expected.v)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, AmsgradIsAPlainLoop) {
  using E = TypeParam;
  const E b1 = static_cast<E>(kBeta1), b2 = static_cast<E>(kBeta2);
  on_every_target([&] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      apply({Amsgrad(), kBeta1, kBeta2, kEpsilon}, got, {&got.m, &got.v, &got.top});
      for (std::size_t i = 0; i < n; ++i) {
        const E h = static_cast<E>(kScale) * expected.g[i];
        E &m = expected.m[i], &v = expected.v[i], &top = expected.top[i];
        m = b1 * m + (1 - b1) * h;
        v = b2 * v + (1 - b2) * (h * h);
        top = std::max(top, v);
        expected.w[i] -= static_cast<E>(kRate) * m / (std::sqrt(top) + static_cast<E>(kEpsilon));
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.m, expected.m)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.v, expected.v)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.top, expected.top)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, AdagradAndRMSPropArePlainLoops) {
  using E = TypeParam;
  const E rate = static_cast<E>(kRate), scale = static_cast<E>(kScale);
  const E rho = static_cast<E>(kRho), epsilon = static_cast<E>(kEpsilon);
  on_every_target([&] {
    for (const std::size_t n : sizes()) {
      for (const bool decays : {false, true}) {
        State<E> got(n), expected(n);
        decays ? apply({RmsProp(), 0, kRho, kEpsilon}, got, {&got.v})
               : apply({Adagrad(), 0, 0, kEpsilon}, got, {&got.v});
        for (std::size_t i = 0; i < n; ++i) {
          const E h = scale * expected.g[i];
          E& v = expected.v[i];
          v = decays ? rho * v + (1 - rho) * (h * h) : v + h * h;
          expected.w[i] -= rate * h / std::sqrt(v + epsilon);
        }
        ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
        ASSERT_TRUE(same_bytes(got.v, expected.v)) << n << " elements";
      }
    }
  });
}

TYPED_TEST(UpdatesTest, AdadeltaIsAPlainLoop) {
  using E = TypeParam;
  const E rho = static_cast<E>(kRho), epsilon = static_cast<E>(kEpsilon);
  on_every_target([&] {
    for (const std::size_t n : sizes()) {
      State<E> got(n), expected(n);
      apply({Adadelta(), 0, kRho, kEpsilon}, got, {&got.v, &got.top});
      for (std::size_t i = 0; i < n; ++i) {
        const E h = static_cast<E>(kScale) * expected.g[i];
        E &s = expected.v[i], &d = expected.top[i];
        s = rho * s + (1 - rho) * (h * h);
        const E x = h * std::sqrt(d + epsilon) / std::sqrt(s + epsilon);
        d = rho * d + (1 - rho) * (x * x);
        expected.w[i] -= static_cast<E>(kRate) * x;
      }
      ASSERT_TRUE(same_bytes(got.w, expected.w)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.v, expected.v)) << n << " elements";
      ASSERT_TRUE(same_bytes(got.top, expected.top)) << n << " elements";
    }
  });
}

TYPED_TEST(UpdatesTest, ScaleAndAverageArePlainLoops) {
  using E = TypeParam;
  const std::vector<double> factors = {kScale, 1.1, 0.3};
  on_every_target([&] {
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
  on_every_target([] {
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
  on_every_target([] {
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
