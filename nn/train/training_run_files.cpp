// TrainingRun: its options, checkpoint and other files.
#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/checkpoint.h"
#include "dynet_like/io/folder_lock.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/tensor_file.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

namespace {

constexpr const char* kOwn = "training.";
constexpr const char* kEpoch = "training.epoch";
constexpr const char* kDevScore = "training.dev_score";

// Files have nothing else: better to say so before an epoch than after it.
void check_text(const std::string& text) {
  if (detail::is_utf8(text)) return;
  throw UsageError(
      fmt::format("[TrainingRun] need text in UTF-8; got {}", detail::quoted_text(text)));
}

void check_metadata(const Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    check_text(key);
    check_text(value);
    if (!key.starts_with(kOwn) && !key.starts_with(detail::tensor_file::kReserved)) continue;
    throw UsageError(
        fmt::format("[TrainingRun] need keys of settings, texts and arguments that do not begin "
                    "with \"{}\" or \"{}\"; got {}",
                    kOwn, detail::tensor_file::kReserved, detail::quoted_text(key)));
  }
}

// A file that has both would lose one of them.
void check_other_keys(const Metadata& settings, const Metadata& others, const char* name) {
  for (const auto& [key, value] : settings) {
    if (!others.contains(key)) continue;
    throw UsageError(
        fmt::format("[TrainingRun] need other keys in settings than in texts and arguments; got {} "
                    "in settings and {}",
                    detail::quoted_text(key), name));
  }
}

void check_settings(const std::string& file, const Metadata& saved, const Metadata& now) {
  for (const auto& [name, value] : now) {
    const auto found = saved.find(name);
    if (found != saved.end() && found->second == value) continue;
    // What was added to the run's later.
    if (found == saved.end() && name.starts_with(kOwn) && value == "none") continue;
    throw UsageError(fmt::format(
        "[TrainingRun] need the same settings to go on from {}: {} was {}; got {}", file, name,
        found == saved.end() ? "missing" : detail::quoted_text(found->second),
        detail::quoted_text(value)));
  }
}

}  // namespace

void TrainingRun::check_options() const {
  const auto need = [](bool condition, const char* rule, const std::string& got) {
    if (!condition) throw UsageError(fmt::format("[TrainingRun] need {}; got {}", rule, got));
  };
  need(options_.batch_size > 0, "a batch size above 0", "0");
  need(options_.accumulate > 0, "1 minibatch per update or more", "0");
  need(is_relaxed() || options_.shards >= ranks_->size(),
       "a shard for each rank (a run that has begun with fewer goes on with fewer ranks)",
       fmt::format("{} for {}", options_.shards, detail::counted(ranks_->size(), "rank")));
  if (is_relaxed()) options_.relaxation->check(ranks_->size());
  need(!is_relaxed() || options_.accumulate == 1,
       "1 minibatch per update where ranks do not wait for each other",
       fmt::to_string(options_.accumulate));
  need(options_.units_per_sample > 0 && std::isfinite(options_.units_per_sample),
       "units per sample above 0", fmt::to_string(options_.units_per_sample));
  need(!options_.resume || !options_.output.empty(), "a folder to go on from", "none");
  need(!options_.events || !options_.output.empty(), "a folder for events", "none");
  if (options_.plateau) options_.plateau->check();
  check_text(options_.score_name);
  need(options_.score_name != "epoch", "a name of the score that a report has not itself",
       "\"epoch\"");
  check_metadata(options_.settings);
  check_metadata(options_.arguments);
  check_metadata(options_.texts);
  check_other_keys(options_.settings, options_.texts, "texts");
  check_other_keys(options_.settings, options_.arguments, "arguments");
}

void TrainingRun::note(const std::string& column, double value) {
  check_text(column);
  if (column == "epoch" || column == kLossColumn || column == score_column()) {
    throw UsageError(
        fmt::format("[TrainingRun] need a name for a note that the learning curve has not itself; "
                    "got \"{}\"",
                    column));
  }
  notes_[column] = value;
}

// The program's, and those of the run that bits depend on.
Metadata TrainingRun::all_settings() const {
  Metadata all = options_.settings;
  const auto add = [&](const char* name, const std::string& value) {
    all[kOwn + std::string(name)] = value;
  };
  add("batch_size", fmt::to_string(options_.batch_size));
  add("accumulate", fmt::to_string(options_.accumulate));
  add("mean_losses", options_.mean_losses ? "yes" : "no");
  add("better", options_.better == Better::larger ? "larger" : "smaller");
  add("schedule", options_.schedule ? options_.schedule->description() : "none");
  add("schedule_by_epoch", options_.schedule_by_epoch ? "yes" : "no");
  add("plateau", options_.plateau ? options_.plateau->description() : "none");
  add("groups", groups_.description());
  add("seed", fmt::to_string(options_.seed));
  add("shards", options_.shards == 1 ? "none" : fmt::to_string(options_.shards));
  return all;
}

void TrainingRun::take_folder() {
  std::error_code error;
  if (!options_.resume) std::filesystem::create_directories(options_.output, error);
  if (error) {
    throw FileError(options_.output,
                    fmt::format("need to make the folder; got: {}", error.message()));
  }
  lock_ = std::make_unique<detail::FolderLock>(options_.output);
}

void TrainingRun::begin_files() {
  std::error_code error;
  // Better to learn it before hours of training than after; not committed, they leave nothing.
  for (const auto& file : {checkpoint_, best_.file()}) detail::AtomicFile check(file);
  if (options_.resume) write_curve();  // which a run that was killed may not have come to
  if (!options_.events) return;
  const auto file = std::filesystem::path(options_.output) / "events.out.tfevents.0.run";
  if (!options_.resume)
    std::filesystem::remove(file, error);  // or the next line says what is there
  events_ = std::make_unique<EventFile>(file);
}

void TrainingRun::save() {
  if (checkpoint_.empty()) throw UsageError("[TrainingRun] need a folder to save in; got none");
  is_saved_ = true;
  if (!is_writer()) return;
  is_saved_ = false;
  TrainingProgress progress = progress_;
  if (bar_) progress.seconds += bar_->seconds();
  Metadata metadata = all_settings();
  progress.add_to(metadata);
  metadata.insert(options_.arguments.begin(), options_.arguments.end());
  save_checkpoint(checkpoint_, model_, trainer_, Random(options_.seed), metadata);
  is_saved_ = true;
}

void TrainingRun::resume() {
  const SafetensorsFile file = SafetensorsFile::read(checkpoint_);
  check_settings(file.name(), file.metadata(), all_settings());
  TrainingProgress progress = TrainingProgress::from(file.metadata(), file.name());
  if (progress.best_epoch > 0 && is_writer()) read_best(progress);
  Random random;  // every minibatch has its own
  groups_.begin_epoch(progress.epochs + 1);
  load_checkpoint(checkpoint_, model_, trainer_, random);
  progress_ = std::move(progress);
  is_saved_ = true;
}

Metadata TrainingRun::best_metadata(const TrainingProgress& progress) const {
  Metadata metadata = all_settings();
  metadata.insert(options_.texts.begin(), options_.texts.end());
  metadata[kEpoch] = fmt::to_string(progress.best_epoch);
  metadata[kDevScore] = fmt::to_string(progress.best_score);
  return metadata;
}

// The best model is written before the checkpoint: it may be of an epoch that is trained once more.
// Where there are no locks, another run may have replaced it, too.
SafetensorsFile TrainingRun::read_best(const TrainingProgress& progress) const {
  SafetensorsFile file = SafetensorsFile::read(best_.file());
  const Metadata& saved = file.metadata();
  Metadata wanted = best_metadata(progress);
  if (number_in<unsigned>(saved, kEpoch, file.name()) > progress.best_epoch) {
    wanted.erase(kEpoch);
    wanted.erase(kDevScore);
  }
  if (std::includes(saved.begin(), saved.end(), wanted.begin(), wanted.end())) return file;
  throw FileError(file.name(),
                  fmt::format("need the best model of this run, of epoch {}; got that of another "
                              "run: give every run a folder of its own",
                              progress.best_epoch));
}

void TrainingRun::keep_best(const TrainingProgress& progress) {
  if (best_.file().empty() || is_writer()) best_.keep(best_metadata(progress));
}

void TrainingRun::load_best() {
  if (best_.file().empty()) return best_.load();
  if (is_writer()) load_parameters(read_best(progress_), model_);
  with_ranks([&] { broadcast_values(); });
}

void TrainingRun::write_curve() const {
  if (options_.output.empty() || !is_writer()) return;
  const std::filesystem::path folder = options_.output;
  curve().write_csv(folder / "curve.csv");
  curve().write_svg(folder / "curve.svg");
}

void TrainingRun::write_report(const std::filesystem::path& path,
                               const std::map<std::string, double>& results) const {
  if (!is_writer()) return;
  nlohmann::ordered_json report = {{"epochs", progress_.epochs},
                                   {"updates", progress_.updates},
                                   {"skipped_updates", progress_.skipped},
                                   {"best_epoch", progress_.best_epoch},
                                   {"best_" + options_.score_name, progress_.best_score},
                                   {"seconds", progress_.seconds},
                                   {options_.unit + "_per_second", units_per_second()}};
  report["results"] = results;
  report["settings"] = all_settings();
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  detail::write_atomically(path, report.dump(2, ' ', false, kReplace) + '\n');
}

}  // namespace dynet_like::nn
