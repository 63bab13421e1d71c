// The work that a minibatch of every model takes: batches, kernel calls, copies and memory stay
// within the bounds of work_bounds.txt. Nothing is timed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "bench/models/models.h"
#include "bench/support/bounds.h"

namespace dynet_like::bench {
namespace {

constexpr unsigned kSamples = 64;
/// Quick, and neither it nor a few times it is the width of another layer, which could make types
/// of one: the batches are those of the sizes that are measured.
constexpr unsigned kHidden = 12;

struct Quantity {
  const char* name;
  std::uint64_t Report::*of;
  double tolerance;
};
constexpr double kOfBytes = 0.01;
constexpr std::array kQuantities = {
    Quantity{"nodes", &Report::nodes, 0},
    Quantity{"batches", &Report::batches, 0},
    Quantity{"least_batches", &Report::bound, 0},
    Quantity{"kernel_calls", &Report::kernel_calls, 0},
    Quantity{"copied_bytes", &Report::copied_bytes, 0},
    Quantity{"value_bytes", &Report::value_bytes, kOfBytes},
    Quantity{"gradient_bytes", &Report::gradient_bytes, kOfBytes},
    Quantity{"peak_bytes", &Report::peak_bytes, kOfBytes},
};

constexpr const char* kHead =
    R"(# What the first 64 instances of every model of bench/models take together, with layers of 12
# numbers and one thread; least_batches is the bound of the report.
#
# bench_work_counts_test fails where a row takes more (bytes: 1 % more), and also where it takes over
# 5 % less, so that the bounds stay sharp. Never edit this file; it is written by
#   DYNET_LIKE_UPDATE_BOUNDS=1 ctest --preset release -R work_counts
# Whoever raises a bound says why in docs/decisions.md.
)";

Bounds work_bounds() {
  std::vector<Bounds::Quantity> quantities;
  for (const Quantity& quantity : kQuantities) {
    quantities.push_back({quantity.name, quantity.tolerance});
  }
  return {std::move(quantities), kHead};
}

Bounds::Amounts work_of(const Workload& workload, bool train) {
  GraphOptions options;
  options.inference = !train;
  Minibatch batch(options);
  for (unsigned i = 0; i < kSamples; ++i) batch.add_loss(workload.loss(batch.new_graph(), i));
  EXPECT_TRUE(std::isfinite(batch.forward()));
  if (train) batch.backward();
  const Report report = batch.explain();
  Bounds::Amounts amounts;
  for (const Quantity& quantity : kQuantities) amounts.push_back(report.*quantity.of);
  return amounts;
}

Bounds::Table work_of_all() {
  Bounds::Table table;
  for (const ModelKind& model : all_models()) {
    for (const Form form : {Form::fused, Form::ops}) {
      const auto workload = model.make(kHidden, form);
      for (const bool train : {true, false}) {
        const std::string name = std::string(model.name) + (train ? "/train" : "/infer") +
                                 (form == Form::fused ? "/fused" : "/ops");
        table[name] = work_of(*workload, train);
      }
    }
  }
  return table;
}

TEST(WorkCounts, StayWithinTheirBounds) {
  for (const std::string& fault : work_bounds().check("work_bounds.txt", work_of_all())) {
    ADD_FAILURE() << fault;
  }
}

}  // namespace
}  // namespace dynet_like::bench
