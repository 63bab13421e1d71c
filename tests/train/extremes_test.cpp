// Trainers where numbers are very large or infinite: gradients whose squares are not finite, and
// parameters that stay at -infinity, as the scores of what is forbidden do.
#include "dynet_like/core/errors.h"
#include "dynet_like/train/gradient_check.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using namespace trainer_kinds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ExtremesTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(All, ExtremesTest, ::testing::ValuesIn(kinds()),
                         [](const auto& test) { return test.param.name; });

/// A dense parameter and a row of a table, both 0 at first, and their trainer.
struct Elements {
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(0), "w");
  LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(0), "table");
  std::unique_ptr<Trainer> trainer;

  Elements(const Kind& kind, DType dtype) : model(1, dtype), trainer(kind.make(model)) {}

  void update(double of_w, double of_row) {
    Gradients gradients;
    add_to(gradients, w, {of_w});
    add_to(gradients, table, 1, {of_row, 0});
    update_now(*trainer, gradients);
  }
  std::pair<double, double> values() const { return {w.values().at(0), table.all_values().at(2)}; }
  void expect_finite_moments() {
    for (const TrainerState::Moment& moment : trainer->state().moments) {
      for (const double number : as_doubles(moment.values)) {
        EXPECT_TRUE(std::isfinite(number)) << moment.name << " of " << moment.parameter->name;
      }
    }
  }
};

// Below the limit, at it and above it, also where a table's row alone has such a gradient.
TEST_P(ExtremesTest, AGradientMovesItsElementOrIsRefused) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double limit = dtype == DType::f32 ? 0x1p63 : 0x1p511;
    const double below =
        dtype == DType::f32 ? std::nextafter(0x1p63f, 0.0f) : std::nextafter(limit, 0.0);
    const double largest = dtype == DType::f32 ? std::numeric_limits<float>::max()
                                               : std::numeric_limits<double>::max();
    for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
      for (const double spike : {below, limit, -limit, 2 * limit, 4 * limit, largest}) {
        SCOPED_TRACE(spike);
        const bool is_refused = GetParam().squares && std::abs(spike) >= limit;
        Elements elements(GetParam(), dtype);
        elements.trainer->sparse_updates = mode;
        for (const bool of_row : {false, true}) {
          const auto update = [&] { elements.update(of_row ? 1 : spike, of_row ? spike : 1); };
          if (is_refused) {
            const auto before = elements.values();
            EXPECT_THROW(update(), NumericError);
            EXPECT_EQ(elements.trainer->updates(), 0u);
            EXPECT_EQ(elements.values(), before);
          } else {
            const auto value = [&] {
              return of_row ? elements.values().second : elements.values().first;
            };
            const double before = value();
            update();
            EXPECT_TRUE(spike > 0 ? value() < before : value() > before) << value();
          }
        }
        elements.expect_finite_moments();
        if (!is_refused) continue;
        const auto before = elements.values();
        for (int step = 0; step < 3; ++step) elements.update(1, 1);
        EXPECT_LT(elements.values().first, before.first);
        EXPECT_LT(elements.values().second, before.second);
      }
    }
  }
}

TEST_P(ExtremesTest, WhatIsRefusedIsNamed) {
  Elements elements(GetParam(), DType::f32);
  if (!GetParam().squares) {
    EXPECT_NO_THROW(elements.update(1e20, -1e20));
    return;
  }
  EXPECT_EQ(
      message_of<NumericError>([&] { elements.update(1e20, 1); }),
      "[Trainer] need gradients below 9.22e+18, so that moments of their squares stay finite; "
      "got 1e+20 for \"/w\", element 0: clip them, or scale the loss down");
  EXPECT_EQ(
      message_of<NumericError>([&] { elements.update(1, -1e20); }),
      "[Trainer] need gradients below 9.22e+18, so that moments of their squares stay finite; "
      "got -1e+20 for \"/table\", element 0 of row 1: clip them, or scale the loss down");
  EXPECT_EQ(message_of<NumericError>([&] { elements.update(kInfinity, 1); }),
            "[Trainer] need finite gradients; got inf for \"/w\", element 0");
}

// Each rank that adds to an update checks its own part.
TEST_P(ExtremesTest, WhatCannotBeAddedUpIsRefused) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const bool is_float = dtype == DType::f32;
    const double largest =
        is_float ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
    const double limit = !GetParam().squares ? largest : is_float ? 0x1p63 : 0x1p511;
    Elements elements(GetParam(), dtype);
    const auto gradients = [&](double value) {
      Gradients all;
      add_to(all, elements.w, {value});
      return all;
    };
    const Gradients half = gradients(limit / 2), third = gradients(0.33 * limit);
    EXPECT_NO_THROW(elements.trainer->refuse_unusable(half));
    const std::string message =
        message_of<NumericError>([&] { elements.trainer->refuse_unusable(half, 2); });
    EXPECT_TRUE(mentions(message, ", so that 2 of them can be added up; got "));
    EXPECT_NO_THROW(elements.trainer->refuse_unusable(third, 2));
    Gradients sum = gradients(0.33 * limit);
    sum.add(third);
    EXPECT_NO_THROW(update_now(*elements.trainer, sum));
  }
}

TEST_P(ExtremesTest, ClippedGradientsAreSmall) {
  Elements elements(GetParam(), DType::f32);
  elements.trainer->enable_clipping(5);
  elements.update(1e30, 1e25);
  elements.expect_finite_moments();
  const auto before = elements.values();
  for (int step = 0; step < 3; ++step) elements.update(1, 1);
  EXPECT_LT(elements.values().first, before.first);
  // A threshold that lets them through is none.
  for (const float threshold : {1e30f, std::numeric_limits<float>::infinity()}) {
    elements.trainer->enable_clipping(threshold);
    if (GetParam().squares) {
      EXPECT_THROW(elements.update(1e25, 1), NumericError);
    }
    elements.update(1, 1);
  }
}

// Sums and means of the largest squares.
TEST_P(ExtremesTest, MomentsStayFinite) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Elements elements(GetParam(), dtype);
    const double spike = dtype == DType::f32 ? 0x1.fffffep62 : 0x1.fffffep510;
    for (int step = 0; step < (runs_slowly() ? 300 : 3000); ++step) elements.update(spike, -spike);
    elements.expect_finite_moments();
    const auto before = elements.values();
    elements.update(spike, -spike);
    EXPECT_LT(elements.values().first, before.first);
    EXPECT_GT(elements.values().second, before.second);
  }
}

// A parameter that begins with these values, beside a finite one, which is trained.
struct Forbidden {
  ParameterCollection model;
  Parameter w = model.add_parameters({3}, ParameterInitConst(2), "w");
  LookupParameter table = model.add_lookup_parameters(2, {2}, ParameterInitConst(2), "table");
  std::unique_ptr<Trainer> trainer;

  Forbidden(const Kind& kind, DType dtype, double value = -kInfinity)
      : model(1, dtype), trainer(kind.make(model)) {
    w.values().set(1, value);
    table.all_values().set(2, value);
  }
  void update() {
    Gradients gradients;
    add_to(gradients, w, {1, 0, 1});
    add_to(gradients, table, 1, {0, 1});
    update_now(*trainer, gradients);
  }
  void expect(double value, const char* what) const {
    EXPECT_EQ(w.values().at(1), value) << what;
    EXPECT_EQ(table.all_values().at(2), value) << what;
    EXPECT_TRUE(std::isfinite(w.values().at(0))) << what;
    EXPECT_TRUE(std::isfinite(table.all_values().at(3))) << what;
  }
};

TEST_P(ExtremesTest, WhatIsForbiddenStaysForbidden) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const SparseUpdates mode : {SparseUpdates::lazy, SparseUpdates::exact}) {
      for (const double value : {-kInfinity, kInfinity}) {
        for (const bool exponential : {false, true}) {
          Forbidden forbidden(GetParam(), dtype, value);
          Trainer& trainer = *forbidden.trainer;
          trainer.sparse_updates = mode;
          trainer.weight_decay = 0.125f;
          trainer.enable_clipping(0.5f);
          exponential ? trainer.exponential_moving_average(0.75f)
                      : trainer.cumulative_moving_average();
          for (int step = 0; step < 4; ++step) forbidden.update();
          forbidden.expect(value, "weights");
          trainer.swap_params_to_moving_average(true, true);
          forbidden.expect(value, "averages");
          trainer.swap_params_to_weights();
          forbidden.expect(value, "weights, swapped back");
        }
      }
    }
  }
}

// Means of finite numbers and -infinity are -infinity.
TEST(ForbiddenTest, IsForbiddenInAnAverageFromThenOn) {
  for (const bool exponential : {false, true}) {
    Forbidden forbidden(kinds().front(), DType::f32, 3);
    Trainer& trainer = *forbidden.trainer;
    exponential ? trainer.exponential_moving_average(0.75f) : trainer.cumulative_moving_average();
    for (int step = 0; step < 9; ++step) {
      const double value = step < 3 || step > 5 ? 3.0 : -kInfinity;
      forbidden.w.values().set(1, value);
      forbidden.table.all_values().set(2, value);
      forbidden.update();
    }
    trainer.swap_params_to_moving_average(true, true);
    forbidden.expect(-kInfinity, "averages");
    trainer.swap_params_to_weights();
    forbidden.expect(3, "weights");
  }
}

TEST(ForbiddenTest, ZeroIsZero) {
  Forbidden forbidden(kinds().front(), DType::f32);
  forbidden.w.zero();
  forbidden.table.zero();
  EXPECT_EQ(as_vector(forbidden.w.values()), std::vector<float>(3, 0));
  EXPECT_EQ(as_vector(forbidden.table.all_values()), std::vector<float>(4, 0));
}

// There are no differences of a loss at infinity.
TEST(ForbiddenTest, GradientsThereAreNotCompared) {
  ParameterCollection model(1, DType::f64);
  const Parameter w = model.add_parameters({3}, ParameterInitFromVector({1, 2, 3}), "w");
  w.values().set(1, -kInfinity);
  std::vector<std::size_t> compared;
  const GradientDifference worst = check_gradients(
      model, [&](ComputationGraph& graph) { return logsumexp_dim(parameter(graph, w), 0); },
      [&](const GradientDifference& one) { compared.push_back(one.element); });
  EXPECT_LT(worst.error(), 1e-7) << worst.element;
  EXPECT_EQ(compared, (std::vector<std::size_t>{0, 2}));
}

}  // namespace
}  // namespace dynet_like
