// All commands of SCAN's grammar, with shorter names of actions: sentences of one or two phrases.
#include "examples/full/seq2seq/commands.h"

#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

namespace {

using Pairs = std::vector<nn::TextPair>;

std::string repeated(const std::string& actions, unsigned times) {
  std::string result = actions;
  for (unsigned i = 1; i < times; ++i) result += ' ' + actions;
  return result;
}

/// Single movements: "jump", "turn left", "walk opposite right", "turn around left".
Pairs movements() {
  Pairs all;
  for (const char* verb : {"walk", "look", "run", "jump", "turn"}) {
    const bool turns = std::string(verb) == "turn";
    std::string action;
    for (const char* c = verb; *c != 0 && !turns; ++c) action += static_cast<char>(*c - 'a' + 'A');
    if (!turns) all.push_back({verb, action, ""});
    for (const char* direction : {"left", "right"}) {
      const std::string turn = *direction == 'l' ? "LEFT" : "RIGHT";
      const std::string then = turns ? "" : ' ' + action, words = std::string(verb) + ' ';
      all.push_back({words + direction, turn + then, ""});
      all.push_back({words + "opposite " + direction, turn + ' ' + turn + then, ""});
      all.push_back({words + "around " + direction, repeated(turn + then, 4), ""});
    }
  }
  return all;
}

Pairs all_commands() {
  Pairs phrases;
  for (const auto& [words, actions, label] : movements()) {
    phrases.push_back({words, actions, ""});
    phrases.push_back({words + " twice", repeated(actions, 2), ""});
    phrases.push_back({words + " thrice", repeated(actions, 3), ""});
  }
  Pairs commands = phrases;
  for (const nn::TextPair& a : phrases) {
    for (const nn::TextPair& b : phrases) {
      commands.push_back({a.first + " and " + b.first, a.second + ' ' + b.second, ""});
      commands.push_back({a.first + " after " + b.first, b.second + ' ' + a.second, ""});
    }
  }
  return commands;
}

}  // namespace

Pairs draw_commands(std::size_t count, Random& random) {
  Pairs commands = all_commands();
  if (count > commands.size()) {
    throw UsageError("need at most " + std::to_string(commands.size()) +
                     " generated pairs, which is how many there are; got " + std::to_string(count));
  }
  random.shuffle(commands);
  commands.resize(count);
  return commands;
}

}  // namespace dynet_like::examples
