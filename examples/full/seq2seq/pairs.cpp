// Reads files, or generates commands.
#include "examples/full/seq2seq/pairs.h"

#include <algorithm>

#include "examples/full/seq2seq/commands.h"
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

}  // namespace

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
    for (const auto& word : nn::split_line(first, nn::TextUnit::word)) source.add(word);
    for (const auto& word : nn::split_line(second, nn::TextUnit::word)) target.add(word);
  }
  source = source.trimmed(min_count);
  source.freeze();
  target.freeze();
}

Vocabularies::Vocabularies(const nn::SavedModel& model)
    : source(model.vocabulary("source")), target(model.vocabulary("target")) {}

}  // namespace dynet_like::examples
