// A small program with a training run, for tests: it memorises the parity of numbers, with dropout
// and random choices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/train.h"
#include "tests/support/device_memory.h"
#include "tests/support/training_setting.h"

namespace dynet_like::nn::training_program {

constexpr unsigned kSamples = 50, kBatch = 8;  // seven minibatches per epoch

inline std::string new_folder(const char* name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("train_run_" + std::string(name));
  std::filesystem::remove_all(folder);
  return folder;
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Setting = TrainingSetting;

struct Program {
  using Hook = std::function<void(TrainingRun&, int minibatch)>;

  ParameterCollection model;
  Embedding numbers = Embedding(model, kSamples, 4);
  Linear output = Linear(model, 4, 2);
  AdamTrainer trainer = AdamTrainer(model, 0.05f);
  std::unique_ptr<TrainingRun> run;
  std::unique_ptr<Minibatch> batch;
  int minibatch = 0, evaluation = 0;

  explicit Program(const Setting& setting, const std::string& output, bool resume = false,
                   const std::function<void(TrainingOptions&)>& more = {}) {
    TrainingOptions options;
    options.epochs = 3;
    options.batch_size = kBatch;
    options.output = output;
    options.resume = resume;
    options.lines = nullptr;
    options.settings = {{"model", "parity"}};
    options.texts = {{"words", "0\t1\n"}};
    setting.options(options);
    setting.trainer(trainer);
    if (more) more(options);
    run = std::make_unique<TrainingRun>(model, trainer, options);
    batch = std::make_unique<Minibatch>();
  }

  Expression loss(ComputationGraph& graph, std::uint32_t sample, bool training) {
    const bool is_hidden = training && run->random().below(8) == 0;
    const Expression x = numbers(graph, is_hidden ? 0 : sample);
    return cross_entropy(output(training ? dropout(x, 0.2f) : x), sample % 2);
  }

  double dev_score() {
    Minibatch all;
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
      all.add_loss(loss(all.new_graph(), sample, false));
    }
    return 1 - static_cast<double>(all.forward()) / kSamples;
  }

  /// The training loop. It calls the hooks in every minibatch, before and after its update.
  void train(const Hook& before = {}, const Hook& after = {}) {
    while (run->next_epoch()) {
      for (const auto& samples : run->minibatches(*batch, kSamples)) {
        if (before) before(*run, minibatch);
        for (const std::uint32_t sample : samples) {
          batch->add_loss(loss(batch->new_graph(), sample, true));
        }
        run->update(*batch);
        if (after) after(*run, minibatch);
        ++minibatch;
      }
      run->finish_epoch([&] { return dev_score(); });
      ++evaluation;
    }
  }

  std::vector<float> values() const { return values_of(model); }
};

}  // namespace dynet_like::nn::training_program
