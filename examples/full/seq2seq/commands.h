// Commands and what they mean, as in SCAN (Lake and Baroni 2018), so that the program can be tried
// without any file.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/text_pairs.h"

namespace dynet_like::examples {

/// How many there are.
constexpr std::size_t kCommands = 20910;

/// So many different commands, drawn at random, with the actions that they ask for: "turn left
/// after jump twice" and "JUMP JUMP LEFT". Throws UsageError for more than there are.
std::vector<nn::TextPair> draw_commands(std::size_t count, Random& random);

}  // namespace dynet_like::examples
