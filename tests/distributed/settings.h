// What runs of several ranks are told to do in tests.
#pragma once

#include <vector>

#include "tests/distributed/program.h"

namespace dynet_like::nn::ranks_program {

inline std::vector<Setting> settings() {
  return {
      {"plain"},
      {"accumulation", [](TrainingOptions& options) { options.accumulate = 3; }},
      {"sums", [](TrainingOptions& options) { options.sum_losses = true; }},
      {"clipping", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.enable_clipping(0.05f); }},
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
         options.groups = {{1, {{.pattern = "/embedding*", .frozen = true}}},
                           {2, {{.pattern = "*/b", .rate = 0.1f}}}};
       }},
      {"schedule",
       [](TrainingOptions& options) {
         options.schedule = WarmUp{3, CosineRate{0.05f, 12, 0.001f}};
         options.patience = 1;
         options.shards = 5;
       }},
  };
}

}  // namespace dynet_like::nn::ranks_program
