// A setting for tests of training runs: a name, and changes of the options and the trainer.
#pragma once

#include <functional>
#include <ostream>

#include "nn/train.h"

namespace dynet_like::nn {

struct TrainingSetting {
  const char* name;
  std::function<void(TrainingOptions&)> options = [](TrainingOptions&) {};
  std::function<void(Trainer&)> trainer = [](Trainer&) {};
};

inline void PrintTo(const TrainingSetting& setting, std::ostream* out) { *out << setting.name; }

}  // namespace dynet_like::nn
