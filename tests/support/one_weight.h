// A model of one weight, whose gradient is what it is told, for tests of training runs.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/train.h"

namespace dynet_like::nn {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct OneWeight {
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(8), "w");
  SimpleSGDTrainer trainer{model, 1};
  Minibatch batch;
  TrainingOptions options;

  OneWeight() {
    options.report.lines = nullptr;
    options.stopping.watch_interrupts = false;
  }

  float value() const { return as_scalar(w.values()); }
  /// Makes the minibatch that of one loss.
  void set_loss(float slope) {
    batch.clear();
    batch.add_loss(parameter(batch.new_graph(), w) * slope);
  }
  using Body = std::function<void(const std::vector<std::uint32_t>& samples)>;
  /// Calls the body for each minibatch of an epoch.
  void epoch(TrainingRun& run, const Minibatches& list, const Body& body) {
    ASSERT_TRUE(run.next_epoch(list));
    while (run.next(batch)) body(run.samples());
  }
  /// An epoch of minibatches with these slopes.
  void epoch(TrainingRun& run, const std::vector<float>& slopes) {
    Minibatches list;
    for (std::uint32_t i = 0; i < slopes.size(); ++i) list.push_back({i});
    epoch(run, list, [&](const auto& samples) {
      set_loss(slopes[samples[0]]);
      run.update(batch);
    });
  }
};

}  // namespace dynet_like::nn
