// The list of what bits depend on, and its form in a checkpoint.
#include "nn/train/run_settings.h"

#include <algorithm>
#include <fstream>
#include <iterator>
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
#include "dynet_like/io/safetensors.h"
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

Metadata joined(Metadata all, const Metadata& more) {
  all.insert(more.begin(), more.end());
  return all;
}

}  // namespace

// Not here, since it follows or is state: the trainer's learning rate and its averages in place of
// weights; whether updates that are not finite fail or are skipped, since a run that went on
// without a failure has skipped nothing; numbers of threads and ranks, policies and limits of
// memory, but for share_repeated.
Metadata settings_of(const TrainingState& run) {
  const TrainingOptions& options = run.options;
  Metadata all = options.settings;
  const auto add = [&](const std::string& name, const std::string& value) {
    all[kOwnSettings + name] = value;
  };
  add("batch_size", fmt::to_string(options.batch_size));
  add("accumulate", fmt::to_string(options.accumulate));
  add("sum_losses", yes_or_no(options.sum_losses));
  add("better", options.better == Better::larger ? "larger" : "smaller");
  add("schedule", options.schedule ? options.schedule->description() : "none");
  add("schedule_by_epoch", yes_or_no(options.schedule_by_epoch));
  add("plateau", options.plateau ? options.plateau->description() : "none");
  add("groups", run.groups.description());
  add("seed", fmt::to_string(options.seed));
  add("shards", fmt::to_string(options.shards));
  add("ranks wait for each other", yes_or_no(!run.is_relaxed()));
  add("graph", graph_settings(run));
  for (const auto& [name, value] : run.trainer.settings()) {
    if (name != "learning rate" && name != "weights") add("trainer's " + name, value);
  }
  return all;
}

Metadata conditions_of(const ParameterCollection& model) {
  const std::string device = model.device()->name();
  return {{kVersion, version()},
          {kInstructionSet, instruction_set()},
          {kDevice, device.substr(0, device.find(':'))},
          {"training.parameters", detail::list_of(model)}};
}

bool is_about_last_bits(const std::string& name) {
  return name == kVersion || name == kInstructionSet || name == kDevice;
}

// With share_repeated, samples that run together add up their gradients as one: policy, threads and
// limit of memory say which these are, and a shard always runs by itself. A GPU shares nothing, but
// sums in chunks.
std::string graph_settings(const GraphOptions& graph, const TrainingState& run) {
  const bool is_on_cpu = graph.device->is_cpu(), shares = is_on_cpu && graph.share_repeated;
  std::vector<std::string> all;
  if (shares) {
    all.push_back(fmt::format("share_repeated, {}", batching::name_of(graph.policy)));
    const bool by_shards = run.options.shards > 1 && !run.is_relaxed();
    if (!by_shards) all.push_back(fmt::format("threads {}", graph.threads));
  }
  if ((shares || !is_on_cpu) && graph.memory_limit > 0) {
    all.push_back(fmt::format("memory_limit {}", graph.memory_limit));
  }
  return all.empty() ? "none" : fmt::to_string(fmt::join(all, ", "));
}

std::string graph_settings(const TrainingState& run) {
  GraphOptions graph = run.options.graph;
  if (graph.threads == 0) graph.threads = std::max(1u, std::thread::hardware_concurrency());
  return graph_settings(graph, run);
}

Metadata conduct_of(const TrainingState& run) {
  static const std::string program = fingerprint_of_program();  // reads megabytes, so only once
  const TrainingOptions& options = run.options;
  const Relaxation relaxation = run.is_relaxed() ? *options.relaxation : Relaxation{.staleness = 0};
  return {{"program", program},
          {"not finite", options.not_finite == NotFinite::skip ? "skip" : "fail"},
          {"epochs to train", fmt::to_string(options.epochs)},
          {"patience", fmt::to_string(options.patience)},
          {"staleness", fmt::to_string(relaxation.staleness)},
          {"backup ranks", fmt::to_string(relaxation.backup_ranks)},
          {"updates so far", fmt::to_string(run.progress.updates)}};
}

void check_settings(const SafetensorsFile& checkpoint, const TrainingState& run) {
  const Metadata& all = checkpoint.metadata();
  const auto names = all.find(kNames);
  const auto list = names == all.end()
                        ? nlohmann::json()
                        : nlohmann::json::parse(names->second, nullptr, /*allow_exceptions=*/false);
  const auto is_name = [](const auto& name) { return name.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_name)) {
    throw FileError(checkpoint.name(), "need the names of a run's settings in it; got none");
  }
  Metadata then, now = joined(run.settings, run.conditions);
  for (const auto& name : list) {
    const auto found = all.find(name.get<std::string>());
    if (found != all.end()) then.insert(*found);
  }
  if (run.options.other_bits) {
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
                      ? ": go on where it began, or set TrainingOptions::other_bits, since last "
                        "bits will differ"
                      : ""));
}

void add_settings(const TrainingState& run, Metadata& metadata) {
  const Metadata all = joined(run.settings, run.conditions);
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back(name);
  metadata = joined(all, metadata);
  metadata[kNames] = nlohmann::json(names).dump();
}

}  // namespace dynet_like::nn
