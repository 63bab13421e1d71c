// Samples that wait for values while memory is out: after `clear` the same minibatch gives the same
// bits, whether one allocation failed or all from some point on.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/failing/failing_allocations.h"
#include "tests/support/known_minibatch.h"

namespace dynet_like {
namespace {

constexpr std::size_t kWaitingSamples = 5;

struct SampleWorld {
  explicit SampleWorld(unsigned threads) {
    GraphOptions options;
    options.threads = threads;
    options.inference = true;
    options.stack_bytes = std::size_t{128} << 10;
    batch.emplace(options);
  }

  // From here dropout draws the same numbers each time.
  void start_anew() {
    batch->clear();
    batch->seed_samples(seeds);
  }

  // Samples of different lengths, that decide by what they read.
  float walk(ComputationGraph& graph, std::size_t sample) const {
    Expression loss = model.loss_of(graph, sample);
    for (std::size_t i = 0; i < 1 + sample % 3; ++i) {
      const bool is_odd = static_cast<int>(as_scalar(loss.value()) * 8) % 2 != 0;
      loss = loss + (is_odd ? model.loss_of(graph, sample + i) : tanh(loss));
    }
    return as_scalar(loss.value());
  }

  std::vector<float> run_all() {
    start_anew();
    return for_each_sample(*batch, kWaitingSamples,
                           [&](ComputationGraph& graph, std::size_t i) { return walk(graph, i); });
  }

  std::vector<float> run_arriving() {
    start_anew();
    std::vector<float> results(kWaitingSamples);
    std::size_t come = 0;
    const auto next = [&](bool) -> std::optional<std::size_t> {
      if (come == kWaitingSamples) return std::nullopt;
      return come++;
    };
    for_each_arriving(*batch, 4, next,
                      [&](ComputationGraph& graph, std::size_t i) { results[i] = walk(graph, i); });
    return results;
  }

  KnownModel model;
  std::vector<std::uint64_t> seeds = std::vector<std::uint64_t>(kWaitingSamples, 7);
  std::optional<Minibatch> batch;
};

struct SampleSetting {
  const char* name;
  std::vector<float> (SampleWorld::*run)();
  unsigned threads;
};

class FailingSamples : public ::testing::TestWithParam<SampleSetting> {};

TEST_P(FailingSamples, LeaveAMinibatchAsGoodAsNew) {
  failing::expect_as_good_as_new([] { return std::make_unique<SampleWorld>(GetParam().threads); },
                                 [](SampleWorld& world) { return (world.*GetParam().run)(); });
}

const SampleSetting kSettings[] = {{"all", &SampleWorld::run_all, 1},
                                   {"all_threads", &SampleWorld::run_all, 2},
                                   {"arriving", &SampleWorld::run_arriving, 1},
                                   {"arriving_threads", &SampleWorld::run_arriving, 2}};

INSTANTIATE_TEST_SUITE_P(Samples, FailingSamples, ::testing::ValuesIn(kSettings),
                         [](const ::testing::TestParamInfo<SampleSetting>& setting) {
                           return std::string(setting.param.name);
                         });

}  // namespace
}  // namespace dynet_like
