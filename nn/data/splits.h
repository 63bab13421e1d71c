// The three parts of a data set.
#pragma once

#include <vector>

namespace dynet_like::nn {

/// Samples to train on, to choose the best model on, and to test on.
template <class Sample>
struct Splits {
  std::vector<Sample> train = {}, dev = {}, test = {};
};

}  // namespace dynet_like::nn
