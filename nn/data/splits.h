// The three parts of a data set.
#pragma once

#include <vector>

namespace dynet_like::nn {

/// Samples for training, for choosing the best model, and for testing.
template <class Sample>
struct Splits {
  std::vector<Sample> train = {}, dev = {}, test = {};
};

}  // namespace dynet_like::nn
