// Writes text with the language model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "examples/full/language_model/model.h"

namespace dynet_like::examples {

struct SamplingOptions {
  unsigned count = 0;                  ///< number of units
  float temperature = 1;               ///< divides scores: below 1, likely units become more likely
  std::optional<std::uint32_t> never;  ///< a unit that is not drawn, such as the unknown word
};

/// Draws units after a prompt of at least one unit, each from the softmax of the scores. The result
/// depends only on the state of `random`.
std::vector<std::uint32_t> sample(const LanguageModel& model, std::span<const std::uint32_t> prompt,
                                  const SamplingOptions& options, Random& random);

}  // namespace dynet_like::examples
