// The list of what bits depend on, and its form in a checkpoint.
#include "nn/train/run_settings.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/version.h"
#include "dynet_like/device/instruction_set.h"
#include "dynet_like/distributed/alike.h"
#include "nn/train/fingerprint.h"

namespace dynet_like::nn {

namespace {

// The entry of a checkpoint that lists the names of the others.
constexpr const char* kNames = "training.settings";

constexpr const char *kVersion = "training.library version",
                     *kInstructionSet = "training.instruction set", *kDevice = "training.device";

std::string yes_or_no(bool is_so) { return is_so ? "yes" : "no"; }

/// The fingerprint of the program and the library's files that this process runs; "unknown" if the
/// system does not show them.
std::string fingerprint_of_program() {
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos || line.find("/libdynet_like") == std::string::npos) continue;
    libraries.insert(line.substr(path));
  }
  std::vector<std::string> files = {"/proc/self/exe"};
  files.insert(files.end(), libraries.begin(), libraries.end());
  try {
    return fingerprint_of(files);
  } catch (const FileError&) {
    return "unknown";
  }
}

bool is_about_last_bits(const std::string& name) {
  return name == kVersion || name == kInstructionSet || name == kDevice;
}

}  // namespace

// Not here, since it follows or is state: the trainer's learning rate and its averages in place of
// weights; whether updates that are not finite fail or are skipped, since a run that went on
// without a failure has skipped nothing; numbers of threads and ranks, policies and limits of
// memory, but for share_repeated.
RunSettings::RunSettings(const TrainingOptions& options, const Trainer& trainer,
                         const std::string& groups, const Metadata& loop)
    : chosen(options.files.settings) {
  const auto add = [&](const std::string& name, const std::string& value) {
    chosen[kOwnSettings + name] = value;
  };
  const ScheduleOptions& schedule = options.schedule;
  add("batch_size", fmt::to_string(options.batch_size));
  add("accumulate", fmt::to_string(options.accumulate));
  add("sum_losses", yes_or_no(options.sum_losses));
  add("better", options.stopping.better == Better::larger ? "larger" : "smaller");
  add("schedule", schedule.rate ? schedule.rate->description() : "none");
  add("schedule_by_epoch", yes_or_no(schedule.by_epoch));
  add("plateau", schedule.plateau ? schedule.plateau->description() : "none");
  add("groups", groups);
  add("seed", fmt::to_string(options.seed));
  add("shards", fmt::to_string(options.ranks.shards));
  add("ranks wait for each other", yes_or_no(!options.ranks.is_relaxed()));
  add("graph", graph_settings(options));
  for (const auto& [name, value] : trainer.settings()) {
    if (name != "learning rate" && name != "weights") add("trainer's " + name, value);
  }
  chosen.insert(loop.begin(), loop.end());
  const std::string device = trainer.parameters().device()->name();
  conditions = {{kVersion, version()},
                {kInstructionSet, instruction_set()},
                {kDevice, device.substr(0, device.find(':'))},
                {"training.parameters", detail::list_of(trainer.parameters())}};
}

Metadata RunSettings::all() const {
  Metadata all = chosen;
  all.insert(conditions.begin(), conditions.end());
  return all;
}

void RunSettings::add_to(Metadata& metadata) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : all()) {
    names.push_back(name);
    metadata[name] = value;
  }
  metadata[kNames] = nlohmann::json(names).dump();
}

void RunSettings::check(const SafetensorsFile& checkpoint, bool other_bits) const {
  const Metadata& saved = checkpoint.metadata();
  const auto names = saved.find(kNames);
  const auto list = names == saved.end()
                        ? nlohmann::json()
                        : nlohmann::json::parse(names->second, nullptr, /*allow_exceptions=*/false);
  const auto is_name = [](const auto& name) { return name.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_name)) {
    throw FileError(checkpoint.name(), "need the names of a run's settings in it; got none");
  }
  Metadata then, now = all();
  for (const auto& name : list) {
    const auto found = saved.find(name.get<std::string>());
    if (found != saved.end()) then.insert(*found);
  }
  if (other_bits) {
    for (Metadata* some : {&then, &now}) {
      std::erase_if(*some, [](const auto& one) { return is_about_last_bits(one.first); });
    }
  }
  const std::optional<detail::Difference> difference = detail::difference_of(then, now);
  if (!difference) return;
  throw UsageError(
      fmt::format("[TrainingRun] need the same settings to go on from {}: {} was {}; got {}{}",
                  checkpoint.name(), difference->name, difference->first, difference->second,
                  is_about_last_bits(difference->name)
                      ? ": go on where it began, or set FileOptions::other_bits, since last bits "
                        "will differ"
                      : ""));
}

// With share_repeated, samples that run together add up their gradients as one: policy, threads and
// limit of memory say which these are, and a shard always runs by itself. A GPU shares nothing, but
// sums in chunks.
std::string graph_settings(const GraphOptions& graph, const RankOptions& ranks) {
  const bool is_on_cpu = graph.device->is_cpu(), shares = is_on_cpu && graph.share_repeated;
  std::vector<std::string> all;
  if (shares) {
    all.push_back(fmt::format("share_repeated, {}", batching::name_of(graph.policy)));
    const bool by_shards = ranks.shards > 1 && !ranks.is_relaxed();
    if (!by_shards) all.push_back(fmt::format("threads {}", graph.threads));
  }
  if ((shares || !is_on_cpu) && graph.memory_limit > 0) {
    all.push_back(fmt::format("memory_limit {}", graph.memory_limit));
  }
  return all.empty() ? "none" : fmt::to_string(fmt::join(all, ", "));
}

std::string graph_settings(const TrainingOptions& options) {
  GraphOptions graph = options.graph;
  if (graph.threads == 0) graph.threads = std::max(1u, std::thread::hardware_concurrency());
  return graph_settings(graph, options.ranks);
}

Metadata conduct_of(const TrainingOptions& options, std::uint64_t updates) {
  static const std::string program = fingerprint_of_program();  // reads megabytes, so only once
  const Relaxation relaxation =
      options.ranks.is_relaxed() ? *options.ranks.relaxation : Relaxation{.staleness = 0};
  return {{"program", program},
          {"not finite", options.not_finite == NotFinite::skip ? "skip" : "fail"},
          {"epochs to train", fmt::to_string(options.epochs)},
          {"patience", fmt::to_string(options.stopping.patience)},
          {"staleness", fmt::to_string(relaxation.staleness)},
          {"backup ranks", fmt::to_string(relaxation.backup_ranks)},
          {"updates so far", fmt::to_string(updates)}};
}

}  // namespace dynet_like::nn
