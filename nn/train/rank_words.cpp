// Words of ranks as bytes, and what is wrong with them.
#include "nn/train/rank_words.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::nn {

namespace {

using Bytes = Communicator::Bytes;

/// What no gradients begin with.
constexpr std::uint64_t kWord = 0xd3c0'd1a1'09e5'a11d;

/// The part of a word that always has the same size.
struct Fixed {
  std::uint64_t is_word, epoch, minibatch, order, random, losses, stops, shards, has_failed;
  double busy_seconds;
};

Bytes to_bytes(const RankWord& word) {
  const Fixed fixed = {kWord,
                       word.epoch,
                       word.minibatch,
                       word.order,
                       word.random,
                       word.losses,
                       word.stops ? 1u : 0u,
                       word.shard_losses.size(),
                       word.failure.empty() ? 0u : 1u,
                       word.busy_seconds};
  Bytes bytes;
  append_bytes(bytes, &fixed, sizeof(fixed));
  append_bytes(bytes, word.shard_losses.data(), word.shard_losses.size() * sizeof(double));
  append_bytes(bytes, word.failure.data(), word.failure.size());
  return bytes;
}

RankWord from_bytes(const Bytes& bytes, const std::string& rank) {
  Fixed fixed = {};
  const auto need = [&](std::size_t size) {
    if (bytes.size() >= size) return;
    throw RankError(fmt::format("[TrainingRun] need a word of {} bytes or more from {}; got {}",
                                size, rank, bytes.size()));
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
  RankWord word = {fixed.epoch,  fixed.minibatch,    fixed.order,
                   fixed.random, fixed.losses,       fixed.stops != 0,
                   {},           fixed.busy_seconds, ""};
  word.shard_losses.resize(fixed.shards);
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
  check("a position of random()", word.random, first.random);
}

}  // namespace

AllWords exchange(Communicator& ranks, const RankWord& mine) {
  std::vector<Bytes> all;
  ranks.all_gather(to_bytes(mine), all);
  std::vector<RankWord> words;
  for (unsigned r = 0; r < ranks.size(); ++r) words.push_back(from_bytes(all[r], ranks.name(r)));
  AllWords result;
  for (unsigned r = 0; r < ranks.size(); ++r) {
    const RankWord& word = words[r];
    if (!word.failure.empty() && mine.failure.empty()) {
      throw RankError(fmt::format("[TrainingRun] need all ranks; {} has failed: {}", ranks.name(r),
                                  word.failure));
    }
    if (mine.failure.empty()) check_place(word, words[0], ranks.name(r));
    for (const double loss : word.shard_losses) result.loss += loss;
    result.losses += word.losses;
    result.any_stops |= word.stops;
    result.mean_busy_seconds += word.busy_seconds / ranks.size();
    result.most_busy_seconds = std::max(result.most_busy_seconds, word.busy_seconds);
  }
  return result;
}

void check_alike(Communicator& ranks, const Metadata& mine) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> texts = gather_texts(ranks, nlohmann::json(mine).dump());
  std::vector<Metadata> all;
  for (const std::string& text : texts) all.push_back(nlohmann::json::parse(text).get<Metadata>());
  std::set<std::string> names;
  for (const Metadata& some : all) {
    for (const auto& [name, value] : some) names.insert(name);
  }
  const auto value_of = [&](unsigned rank, const std::string& name) {
    const auto found = all[rank].find(name);
    return found == all[rank].end() ? "nothing" : detail::quoted_text(found->second);
  };
  for (const std::string& name : names) {
    for (unsigned r = 1; r < ranks.size(); ++r) {
      if (value_of(r, name) == value_of(0, name)) continue;
      throw UsageError(
          fmt::format("[TrainingRun] need the same program, data and options on all ranks; got as "
                      "{}: {} on {}, "
                      "and {} on {}",
                      name, value_of(0, name), ranks.name(0), value_of(r, name), ranks.name(r)));
    }
  }
}

}  // namespace dynet_like::nn
