// Finding and reading files.
#include "examples/seq2seq/pairs.h"

#include <algorithm>

#include "examples/seq2seq/commands.h"
#include "nn/data/tab_separated.h"
#include "nn/data/text.h"

namespace dynet_like::examples {

namespace {

using Pairs = std::vector<nn::TextPair>;

/// Takes the last ones away.
Pairs split_off(Pairs& pairs, std::size_t count) {
  const auto first = pairs.end() - static_cast<std::ptrdiff_t>(count);
  Pairs last(std::make_move_iterator(first), std::make_move_iterator(pairs.end()));
  pairs.erase(first, pairs.end());
  return last;
}

PairSplits read_scan_splits(const std::string& folder, const std::string& split, Random& random) {
  PairSplits data;
  data.train = nn::read_scan(folder + "/tasks_train_" + split + ".txt");
  data.test = nn::read_scan(folder + "/tasks_test_" + split + ".txt");
  random.shuffle(data.train);
  data.dev = split_off(data.train, data.train.size() / 20);
  return data;
}

}  // namespace

PairSplits load_pairs(const Options& options) {
  options.need_none("data", {"train", "dev", "test", "train-pairs", "test-pairs"});
  options.need_none("train", {"train-pairs", "test-pairs"});
  options.need_all_or_none({"train", "dev", "test"});
  if (options.has("split") && !options.has("data")) {
    throw UsageError("need --data with --split; got none");
  }
  Random random(options.seed());
  if (options.has("data")) {
    return read_scan_splits(options.text("data"), options.text("split"), random);
  }
  if (options.has("train")) {
    return {nn::read_text_pairs(options.text("train")), nn::read_text_pairs(options.text("dev")),
            nn::read_text_pairs(options.text("test"))};
  }
  const unsigned train = options.whole("train-pairs"), test = options.whole("test-pairs");
  PairSplits data;
  data.train = draw_commands(std::size_t{train} + 2 * std::size_t{test}, random);
  data.test = split_off(data.train, test);
  data.dev = split_off(data.train, test);
  return data;
}

Vocabularies::Vocabularies(const Pairs& pairs, unsigned min_count) {
  source.set_unknown("<unknown>");
  target.add("\n");  // no word can be that
  for (const auto& [first, second, label] : pairs) {
    for (const auto word : nn::split_line(first, nn::TextUnit::word)) source.add(word);
    for (const auto word : nn::split_line(second, nn::TextUnit::word)) target.add(word);
  }
  source = source.trimmed(min_count);
  source.freeze();
  target.freeze();
}

Vocabularies::Vocabularies(const nn::SavedModel& model)
    : source(model.vocabulary("source")), target(model.vocabulary("target")) {}

}  // namespace dynet_like::examples
