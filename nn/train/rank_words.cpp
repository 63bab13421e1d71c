// Words of ranks as bytes, and what is wrong with them.
#include "nn/train/rank_words.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

using Bytes = Communicator::Bytes;

/// What no gradients begin with.
constexpr std::uint64_t kWord = 0xd3c0'd1a1'09e5'a11d;

/// What all words begin with; then come losses and failure.
struct Fixed {
  std::uint64_t is_word = kWord, shards = 0, has_failed = 0;
  RankNumbers numbers = {};
};

Bytes to_bytes(const RankWord& word) {
  Fixed fixed;
  fixed.shards = word.shard_losses.size();
  fixed.has_failed = word.failure.empty() ? 0 : 1;
  fixed.numbers = word;
  Bytes bytes;
  append_bytes(bytes, &fixed, sizeof(fixed));
  append_bytes(bytes, word.shard_losses.data(), word.shard_losses.size() * sizeof(double));
  append_bytes(bytes, word.failure.data(), word.failure.size());
  return bytes;
}

RankWord from_bytes(const Bytes& bytes, const std::string& rank) {
  Fixed fixed;
  const auto need = [&](std::size_t size) {
    if (bytes.size() >= size) return;
    throw RankError(fmt::format("[TrainingRun] need a word of {} or more from {}; got {}",
                                detail::counted(size, "byte"), rank, bytes.size()));
  };
  need(sizeof(fixed));
  std::memcpy(&fixed, bytes.data(), sizeof(fixed));
  if (fixed.is_word != kWord) {
    throw UsageError(
        fmt::format("[TrainingRun] need all ranks at the same place; got gradients of "
                    "{}: what ranks do must not depend on the rank",
                    rank));
  }
  if (fixed.shards > bytes.size()) need(fixed.shards);
  const std::size_t text = sizeof(fixed) + fixed.shards * sizeof(double);
  need(text);
  RankWord word = {fixed.numbers, std::vector<double>(fixed.shards), ""};
  std::copy(bytes.begin() + sizeof(fixed), bytes.begin() + static_cast<std::ptrdiff_t>(text),
            reinterpret_cast<std::byte*>(word.shard_losses.data()));
  word.failure.assign(reinterpret_cast<const char*>(bytes.data()) + text, bytes.size() - text);
  if (fixed.has_failed != 0 && word.failure.empty()) word.failure = "an exception";
  return word;
}

void check_place(const RankWord& word, const RankWord& first, const std::string& name) {
  const auto check = [&](const char* what, std::uint64_t got, std::uint64_t need) {
    if (got == need) return;
    throw UsageError(
        fmt::format("[TrainingRun] need all ranks at the same place; got {} {} on rank 0 "
                    "and {} on {}: what ranks do must not depend on the rank",
                    what, need, got, name));
  };
  check("epoch", word.epoch, first.epoch);
  check("minibatch", word.minibatch, first.minibatch);
  check("minibatches with the fingerprint", word.order, first.order);
  check("sizes of samples with the fingerprint", word.sizes, first.sizes);
  check("a position of random()", word.random, first.random);
}

}  // namespace

AllWords exchange(Communicator& ranks, const RankWord& mine) {
  std::vector<Bytes> all;
  ranks.all_gather(to_bytes(mine), all);
  std::vector<RankWord> words;
  for (unsigned r = 0; r < ranks.size(); ++r) words.push_back(from_bytes(all[r], ranks.name(r)));
  AllWords result;
  bool any_fails = false;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const RankWord& word = words[r];
    if (!word.failure.empty() && mine.failure.empty()) {
      throw RankError(fmt::format("[TrainingRun] need all ranks; {} has failed: {}", ranks.name(r),
                                  word.failure));
    }
    if (mine.failure.empty()) check_place(word, words[0], ranks.name(r));
    for (const double loss : word.shard_losses) result.loss += loss;
    result.losses += word.losses;
    result.terms += word.terms;
    result.same_trainer &= word.trainer == words[0].trainer;
    result.same_parameters &= word.parameters == words[0].parameters;
    any_fails |= !word.failure.empty();
    result.any_stops |= word.stops != 0;
    result.mean_busy_seconds += word.busy_seconds / ranks.size();
    result.most_busy_seconds = std::max(result.most_busy_seconds, word.busy_seconds);
  }
  // Who has failed would compare alone.
  if (any_fails) result.same_trainer = result.same_parameters = true;
  return result;
}

}  // namespace dynet_like::nn
