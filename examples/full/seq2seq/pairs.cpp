// Reads files, or generates commands.
#include "examples/full/seq2seq/pairs.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "nn/data/tab_separated.h"
#include "nn/data/text.h"

namespace dynet_like::examples {

namespace {

using Pairs = std::vector<nn::TextPair>;

/// Removes the last pairs, and returns them.
Pairs split_off(Pairs& pairs, std::size_t count) {
  const auto first = pairs.end() - static_cast<std::ptrdiff_t>(count);
  Pairs last(std::make_move_iterator(first), std::make_move_iterator(pairs.end()));
  pairs.erase(first, pairs.end());
  return last;
}

Pairs read_pairs(const std::string& file) {
  return file.ends_with(".txt") ? nn::read_scan(file) : nn::read_text_pairs(file);
}

// All commands of SCAN's grammar, with shorter names of actions: sentences of one or two phrases.

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

nn::Splits<nn::TextPair> load_pairs(const Options& options) {
  options.need_none("train", {"train-pairs", "test-pairs"});
  options.need_all_or_none({"train", "test"});
  if (options.has("dev")) options.need_all_or_none({"train", "dev", "test"});
  Random random(options.seed());
  nn::Splits<nn::TextPair> data;
  if (options.has("train")) {
    data.train = read_pairs(options.text("train"));
    data.test = read_pairs(options.text("test"));
    if (options.has("dev")) {
      data.dev = read_pairs(options.text("dev"));
    } else {
      random.shuffle(data.train);
      data.dev = split_off(data.train, data.train.size() / 20);
    }
    return data;
  }
  const unsigned train = options.whole("train-pairs"), test = options.whole("test-pairs");
  data.train = draw_commands(std::size_t{train} + 2 * std::size_t{test}, random);
  data.test = split_off(data.train, test);
  data.dev = split_off(data.train, test);
  return data;
}

Vocabularies::Vocabularies(const Pairs& pairs, unsigned min_count) {
  source.set_unknown("<unknown>");
  target.add("\n");  // not a possible word
  for (const auto& [first, second, label] : pairs) {
    for (const auto& word : nn::split_line(first)) source.add(word);
    for (const auto& word : nn::split_line(second)) target.add(word);
  }
  source = source.trimmed(min_count);
  source.freeze();
  target.freeze();
}

Vocabularies::Vocabularies(const nn::SavedModel& model)
    : source(model.vocabulary("source")), target(model.vocabulary("target")) {}

}  // namespace dynet_like::examples
