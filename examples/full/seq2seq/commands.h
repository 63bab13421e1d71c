// Commands and their meanings, as in SCAN (Lake and Baroni 2018), to try the program without files.
#pragma once

#include <cstddef>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/text_pairs.h"

namespace dynet_like::examples {

/// The number of all commands.
constexpr std::size_t kCommands = 20910;

/// `count` different commands, drawn at random, with the actions that they stand for: "turn left
/// after jump twice" and "JUMP JUMP LEFT". Throws UsageError if there are not so many.
std::vector<nn::TextPair> draw_commands(std::size_t count, Random& random);

}  // namespace dynet_like::examples
