// TrainingOptions and their groups: what is refused, and the length of a run.
#include "nn/train/training_options.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like::nn {

namespace {

constexpr unsigned kMostShards = 1 << 16;  // each has gradients of its own
constexpr double kMostUnits = 1e9;         // of a sample

void need(bool condition, const char* rule, const std::string& got) {
  if (!condition) throw UsageError(fmt::format("[TrainingRun] need {}; got {}", rule, got));
}

void check_metadata(const Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    check_utf8(key);
    check_utf8(value);
    if (!key.starts_with(kOwnSettings) && !key.starts_with(detail::tensor_file::kReserved)) {
      continue;
    }
    throw UsageError(
        fmt::format("[TrainingRun] need keys of settings, texts and arguments that do not begin "
                    "with \"{}\" or \"{}\"; got {}",
                    kOwnSettings, detail::tensor_file::kReserved, detail::quoted_text(key)));
  }
}

// A file that stores both would lose one of them.
void check_other_keys(const Metadata& settings, const Metadata& others, const char* name) {
  for (const auto& [key, value] : settings) {
    if (!others.contains(key)) continue;
    throw UsageError(
        fmt::format("[TrainingRun] need other keys in settings than in texts and arguments; got {} "
                    "in settings and {}",
                    detail::quoted_text(key), name));
  }
}

}  // namespace

void check_utf8(const std::string& text) {
  if (detail::is_utf8(text)) return;
  throw UsageError(
      fmt::format("[TrainingRun] need text in UTF-8; got {}", detail::quoted_text(text)));
}

void ScheduleOptions::check() const {
  if (plateau) plateau->check();
  const float first = rate ? rate->rate(0) : 0;
  need(std::isfinite(first) && first >= 0, "a schedule with finite rates from 0",
       rate ? fmt::format("{} at first, from {}", first, rate->description()) : "");
}

void RankOptions::check(unsigned number_of_ranks) const {
  need(is_relaxed() || shards >= number_of_ranks,
       "a shard for each rank (a run that has begun with fewer goes on with fewer ranks)",
       fmt::format("{} for {}", shards, detail::counted(number_of_ranks, "rank")));
  need(shards > 0 && shards <= kMostShards, "1 to 65536 shards", fmt::to_string(shards));
  if (is_relaxed()) relaxation->check(number_of_ranks);
}

void FileOptions::check() const {
  need(!resume || !folder.empty(), "FileOptions::folder to resume, that of the earlier run",
       "\"\"");
  need(!events || !folder.empty(), "FileOptions::folder for events", "\"\"");
  for (const Metadata* const metadata : {&settings, &arguments, &texts}) check_metadata(*metadata);
  check_other_keys(settings, texts, "texts");
  check_other_keys(settings, arguments, "arguments");
}

void ReportOptions::check() const {
  need(units_per_sample > 0 && units_per_sample <= kMostUnits,
       "more than 0 and at most 1e9 units per sample", fmt::to_string(units_per_sample));
  check_utf8(score_name);
  need(score_name != "epoch", "a name of the score that reports do not use", "\"epoch\"");
}

void TrainingOptions::check(unsigned number_of_ranks) const {
  need(epochs > 0, "1 epoch or more", "0");
  need(batch_size > 0, "a batch size above 0", "0");
  need(accumulate > 0, "1 minibatch per update or more", "0");
  ranks.check(number_of_ranks);
  need(!ranks.is_relaxed() || accumulate == 1,
       "1 minibatch per update where ranks do not wait for each other", fmt::to_string(accumulate));
  schedule.check();
  files.check();
  report.check();
}

std::uint64_t TrainingOptions::updates(std::size_t samples) const {
  if (batch_size == 0 || accumulate == 0) {
    throw UsageError(
        fmt::format("[TrainingOptions] need batch_size and accumulate above 0; got {} and {}",
                    batch_size, accumulate));
  }
  const std::uint64_t minibatches = samples / batch_size + (samples % batch_size > 0 ? 1 : 0);
  return epochs * updates_of(minibatches);
}

std::uint64_t TrainingOptions::updates_of(std::uint64_t minibatches) const {
  return minibatches / accumulate + (minibatches % accumulate > 0 ? 1 : 0);
}

}  // namespace dynet_like::nn
