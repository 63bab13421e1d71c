// Writing text with the language model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "examples/full/language_model/model.h"

namespace dynet_like::examples {

struct SamplingOptions {
  unsigned count = 0;     ///< how many units
  float temperature = 1;  ///< divides the scores: below 1, what is likely becomes more so
  std::optional<std::uint32_t> never;  ///< a unit that is not drawn, such as the unknown word
};

/// Units after a prompt of one unit or more, each drawn from the softmax of the scores. The same
/// for the same state of `random`.
std::vector<std::uint32_t> sample(const LanguageModel& model, std::span<const std::uint32_t> prompt,
                                  const SamplingOptions& options, Random& random);

}  // namespace dynet_like::examples
