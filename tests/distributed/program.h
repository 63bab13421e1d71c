// A small program with a training run of several ranks, for tests: it learns which word of a
// sentence came first, with everything that bits may depend on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/train.h"
#include "tests/support/training_setting.h"

namespace dynet_like::nn::ranks_program {

constexpr unsigned kSamples = 61, kBatch = 16, kWords = 23,
                   kShards = 8;  // four minibatches an epoch

using Setting = TrainingSetting;

struct Program {
  ParameterCollection model;
  Embedding words{model, kWords, 6};
  LSTM lstm{model, 6, 8};
  Linear output{model, 8, kWords};
  AdamTrainer trainer{model, 0.02f};
  std::unique_ptr<TrainingRun> run;
  std::unique_ptr<Minibatch> batch;
  std::function<void(TrainingRun&, std::uint64_t updates)> after_update = {};
  std::vector<float> losses;  // what update() has returned

  Program(const Setting& setting, const std::shared_ptr<Communicator>& ranks,
          const std::string& folder, bool resume = false, unsigned threads = 1) {
    TrainingOptions options;
    options.epochs = 3;
    options.batch_size = kBatch;
    options.output = folder;
    options.resume = resume;
    options.lines = nullptr;
    options.progress_bar = false;
    options.watch_interrupts = false;
    options.ranks = ranks;
    options.shards = kShards;
    setting.options(options);
    setting.trainer(trainer);
    run = std::make_unique<TrainingRun>(model, trainer, options);
    GraphOptions graph_options;
    graph_options.threads = threads;
    batch = std::make_unique<Minibatch>(graph_options);
  }

  /// The words of a sentence: no two samples have the same ones in the same order.
  static std::vector<std::uint32_t> sentence(std::uint32_t sample) {
    Random random(sample);
    std::vector<std::uint32_t> all(1 + random.below(9));
    for (std::uint32_t& word : all) word = random.below(kWords - 3);  // three are never there
    return all;
  }
  static std::vector<std::uint32_t> sizes() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < kSamples; ++i) all.push_back(sentence(i).size());
    return all;
  }

  Expression loss(ComputationGraph& graph, std::uint32_t sample) const {
    LSTM::State state = lstm.start(graph);
    for (const std::uint32_t word : sentence(sample)) {
      state = lstm.step(state, dropout(words(graph, word), 0.2f));
    }
    return cross_entropy(output(dropout(state.h, 0.3f)), sentence(sample).front());
  }

  double dev_score() const {
    Minibatch all({.inference = true});
    for (std::uint32_t i = 0; i < kSamples; ++i) all.add_loss(loss(all.new_graph(), i));
    return -static_cast<double>(all.forward());
  }

  void train() {
    const std::vector<std::uint32_t> sizes = Program::sizes();
    while (run->next_epoch()) {
      for (const auto& samples : run->minibatches(*batch, sizes)) {
        batch->add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
          return loss(graph, samples[i]);
        });
        losses.push_back(run->update(*batch, total_size(sizes, samples)));
        if (after_update) after_update(*run, run->progress().updates);
      }
      run->finish_epoch([&] { return dev_score(); });
    }
  }

  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& storage : model.storages()) {
      storage->refresh_rows();
      const std::vector<float> values = as_vector(storage->tensor());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
};

}  // namespace dynet_like::nn::ranks_program
