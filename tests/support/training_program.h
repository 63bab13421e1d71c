// A small program with a training run, for tests: it learns which word of a sentence came first,
// with all kinds of random numbers. Settings are what runs may be told to do; an outcome is what
// one has come to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/device_memory.h"
#include "tests/support/folder_test.h"

namespace dynet_like::nn::training_program {

using Ranks = std::shared_ptr<Communicator>;

constexpr unsigned kSamples = 50, kBatch = 8, kMinibatches = 7, kWords = 23;

/// Changes of the options and the trainer, with a name.
struct Setting {
  const char* name;
  std::function<void(TrainingOptions&)> options = [](TrainingOptions&) {};
  std::function<void(Trainer&)> trainer = [](Trainer&) {};

  Setting with(const std::function<void(TrainingOptions&)>& more) const {
    Setting both = *this;
    both.options = [first = options, more](TrainingOptions& all) {
      first(all);
      more(all);
    };
    return both;
  }
};
inline void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }
inline const Setting kPlain = {"plain"};

inline std::vector<Setting> settings() {
  const auto shrinks = [](TrainingOptions& options) { options.stopping.better = Better::smaller; };
  const auto rate = [](const Schedule& schedule) {
    return [schedule](TrainingOptions& options) { options.schedule.rate = schedule; };
  };
  return {
      kPlain,
      {"accumulation", [](TrainingOptions& options) { options.accumulate = 3; }},
      {"sums", [](TrainingOptions& options) { options.sum_losses = true; }},
      {"cosine", rate(WarmUp{5, CosineRate{0.05f, 16, 0.001f}})},
      {"linear", rate(WarmUp{5, LinearRate{0.05f, 16, 0.001f}})},
      {"inverse_square_root", rate(InverseSquareRootRate{0.05f, 6})},
      {"exponential_by_epoch",
       [](TrainingOptions& options) {
         options.schedule.rate = ExponentialRate{.start = 0.05f, .factor = 0.5f};
         options.schedule.by_epoch = true;
       }},
      {"cyclical", rate(CyclicalRate{0.01f, 0.1f, 3})},
      // Of a score that grows: no epoch is better.
      Setting{"plateau", shrinks}.with(
          [](TrainingOptions& options) { options.schedule.plateau = Plateau{}; }),
      Setting{"patience", shrinks}.with([](TrainingOptions& options) {
        options.epochs = 9;
        options.stopping.patience = 2;
      }),
      {"clipping", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.enable_clipping(0.05f); }},
      {"cycle", [](TrainingOptions&) {},
       [](Trainer& trainer) {
         trainer.follow({.rate_min = 0.001f, .rate_max = 0.05f, .step_size = 3});
       }},
      {"averages", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.exponential_moving_average(0.8f); }},
      {"groups_and_exact_rows", [](TrainingOptions&) {},
       [](Trainer& trainer) {
         trainer.set_groups({{.pattern = "*/b", .rate = 0.1f}});
         trainer.sparse_updates = SparseUpdates::exact;
         trainer.weight_decay = 0.01f;
       }},
      {"groups_by_epoch",
       [](TrainingOptions& options) {
         options.schedule.groups = {{1, {{.pattern = "/embedding*", .frozen = true}}},
                                    {2, {{.pattern = "*/b", .rate = 0.1f}}},
                                    {3, {{.pattern = "/linear*", .frozen = true}}}};
       },
       [](Trainer& trainer) { trainer.sparse_updates = SparseUpdates::exact; }},
  };
}

/// A path in which there is nothing.
inline std::string new_folder(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("training_" + name);
  std::filesystem::remove_all(folder);
  return folder;
}

struct Outcome {
  std::vector<float> values;
  std::string curve;
  std::uint64_t updates = 0, skipped = 0, without_loss = 0;
  unsigned epochs = 0, best_epoch = 0;
  double best_score = 0;
  float plateau = 1, rate = 0;

  bool operator==(const Outcome&) const = default;
};

struct Program {
  using Hook = std::function<void(TrainingRun& run, int minibatch)>;

  ParameterCollection model;
  Embedding words{model, kWords, 4};
  LSTM lstm{model, 4, 5};
  Linear output{model, 5, kWords};
  AdamTrainer trainer{model, 0.05f};
  std::unique_ptr<TrainingRun> run;
  std::unique_ptr<Minibatch> batch;
  std::vector<float> losses;  ///< what update() has returned
  int minibatch = 0;
  bool by_sizes = false;  ///< samples of similar size together

  explicit Program(const Setting& setting, const std::string& folder = "", bool resume = false,
                   const Ranks& ranks = nullptr, unsigned threads = 1) {
    TrainingOptions options;
    options.epochs = 3;
    options.batch_size = kBatch;
    options.files.folder = folder;
    options.files.resume = resume;
    options.report.lines = nullptr;
    options.files.settings = {{"model", "first word"}};
    options.files.texts = {{"words", "0\t1\n"}};
    options.ranks.communicator = ranks;
    if (ranks) {
      options.stopping.watch_interrupts = false;
      options.ranks.shards = 8;
      for (std::uint32_t i = 0; i < kSamples; ++i) options.sizes.push_back(sentence(i).size());
    }
    setting.options(options);
    setting.trainer(trainer);
    run = std::make_unique<TrainingRun>(trainer, options);
    batch = std::make_unique<Minibatch>(GraphOptions{.threads = threads});
  }

  /// No two samples have the same words in the same order.
  static std::vector<std::uint32_t> sentence(std::uint32_t sample) {
    Random random(sample);
    std::vector<std::uint32_t> all(1 + random.below(4));
    for (std::uint32_t& word : all) word = 1 + random.below(kWords - 3);  // three are never there
    return all;
  }

  Expression loss(ComputationGraph& graph, std::uint32_t sample, std::uint32_t hidden = 0) const {
    LSTM::State state = lstm.start(graph);
    for (const std::uint32_t word : sentence(sample)) {
      const bool is_hidden = graph.random().below(8) == 0;
      state = lstm.step(state, dropout(words(graph, is_hidden ? hidden : word), 0.2f));
    }
    return cross_entropy(output(dropout(state.h, 0.3f)), sentence(sample).front());
  }

  double dev_score() const {
    Minibatch all({.inference = true});
    for (std::uint32_t i = 0; i < kSamples; ++i) all.add_loss(loss(all.new_graph(), i));
    return -static_cast<double>(all.forward());
  }

  /// Records the samples of this minibatch. All ranks draw the word that stands for others.
  void record() {
    const std::uint32_t hidden = run->random().below(kWords);
    const std::vector<std::uint32_t>& samples = run->samples();
    batch->add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
      return loss(graph, samples[i], hidden);
    });
  }

  /// The training loop. It calls the hooks in every minibatch, before and after its update.
  void train(const Hook& before = {}, const Hook& after = {}) {
    while (run->next_epoch(kSamples)) {
      while (run->next(*batch)) {
        if (before) before(*run, minibatch);
        record();
        losses.push_back(run->update(*batch));
        if (after) after(*run, minibatch);
        ++minibatch;
      }
      run->finish_epoch([&] { return dev_score(); });
    }
  }

  /// An epoch without updates.
  void pass_over() {
    EXPECT_TRUE(run->next_epoch(kSamples));
    while (run->next(*batch)) {
    }
  }

  std::vector<float> values() const { return values_of(model); }
  Outcome outcome() const {
    const TrainingProgress& progress = run->progress();
    return {values(),
            progress.curve.to_csv(),
            progress.updates,
            progress.skipped,
            progress.without_loss,
            progress.epochs,
            progress.best_epoch,
            progress.best_score,
            progress.plateau.scale,
            trainer.learning_rate};
  }
};

}  // namespace dynet_like::nn::training_program
