// How well the language model predicts texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/language_model/model.h"

namespace dynet_like::examples {

/// The sum of the losses of all units but the first, in nats, read in at most `streams` parallel
/// streams. It does not depend on the number of threads.
double total_nats(const LanguageModel& model, std::span<const std::uint32_t> units,
                  unsigned streams, unsigned threads);

/// The same for each of several texts of two units or more, read from their beginning; all together
/// in one minibatch.
std::vector<double> nats_of_each(const LanguageModel& model,
                                 std::span<const std::vector<std::uint32_t>> texts,
                                 unsigned threads);

}  // namespace dynet_like::examples
