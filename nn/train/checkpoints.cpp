// Checkpoints: saves them, and checks them when it reads them.
#include "nn/train/checkpoints.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/checkpoint.h"
#include "nn/train/run_settings.h"

namespace dynet_like::nn {

namespace {

constexpr const char* kBestEpoch = "training.epoch";
constexpr const char* kBestScore = "training.dev_score";

/// Throws FileError unless there is such a file or folder of a run to resume.
void check_exists(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  throw FileError(path.string(),
                  "[TrainingRun] need the checkpoint of an earlier run to resume it; got none: set "
                  "TrainingOptions::output to the folder of that run, or resume to false");
}

}  // namespace

Checkpoints::Checkpoints(TrainingState& run)
    : run_(run),
      file_(path_of("checkpoint.safetensors")),
      best_(run.model, path_of("best.safetensors")) {
  const TrainingOptions& options = run.options;
  if (options.resume) check_exists(options.output);
  const bool writes = has_folder() && run.is_writer();
  if (writes) {
    std::error_code error;
    if (!options.resume) std::filesystem::create_directories(options.output, error);
    if (error) {
      throw FileError(options.output,
                      fmt::format("need to make the folder; got: {}", error.message()));
    }
    lock_.emplace(options.output);
  }
  if (options.resume) resume();
  if (!writes) return;
  // Finds out before training whether files can be written. Without a commit, none are left.
  for (const auto& file : {file_, best_.file()}) detail::AtomicFile check(file);
}

std::filesystem::path Checkpoints::path_of(const char* name) const {
  const std::filesystem::path folder = run_.options.output;
  return folder.empty() ? folder : folder / name;
}

void Checkpoints::resume() {
  check_exists(file_);
  const SafetensorsFile file = SafetensorsFile::read(file_);
  check_settings(file, run_);
  TrainingProgress progress = TrainingProgress::from(file.metadata(), file.name());
  if (progress.best_epoch > 0 && run_.is_writer()) read_best(progress);
  Random random;  // every minibatch has its own
  run_.groups.begin_epoch(progress.epochs + 1);
  load_checkpoint(file_, run_.model, run_.trainer, random);
  run_.progress = std::move(progress);
  run_.is_saved = true;
}

void Checkpoints::save(double seconds) {
  if (!has_folder()) throw UsageError("[TrainingRun] need a folder to save in; got none");
  run_.is_saved = !run_.is_writer();
  if (run_.is_saved) return;
  TrainingProgress progress = run_.progress;
  progress.seconds += seconds;
  Metadata metadata;
  add_settings(run_, metadata);
  progress.add_to(metadata);
  metadata.insert(run_.options.arguments.begin(), run_.options.arguments.end());
  save_checkpoint(file_, run_.model, run_.trainer, Random(run_.options.seed), metadata);
  run_.is_saved = true;
}

Metadata Checkpoints::best_metadata(const TrainingProgress& progress) const {
  Metadata metadata = run_.settings;
  metadata.insert(run_.options.texts.begin(), run_.options.texts.end());
  metadata[kBestEpoch] = fmt::to_string(progress.best_epoch);
  metadata[kBestScore] = fmt::to_string(progress.best_score);
  return metadata;
}

// The best model is written before the checkpoint, so it may be of an epoch that will be trained
// again. On file systems without locks, another run may also have replaced it.
SafetensorsFile Checkpoints::read_best(const TrainingProgress& progress) const {
  SafetensorsFile file = SafetensorsFile::read(best_.file());
  const Metadata& saved = file.metadata();
  Metadata wanted = best_metadata(progress);
  if (number_in<unsigned>(saved, kBestEpoch, file.name()) > progress.best_epoch) {
    wanted.erase(kBestEpoch);
    wanted.erase(kBestScore);
  }
  if (std::includes(saved.begin(), saved.end(), wanted.begin(), wanted.end())) return file;
  throw FileError(file.name(),
                  fmt::format("need the best model of this run, of epoch {}; got that of another "
                              "run: give every run a folder of its own",
                              progress.best_epoch));
}

void Checkpoints::keep_best(const TrainingProgress& progress) {
  if (!has_folder() || run_.is_writer()) best_.keep(best_metadata(progress));
}

void Checkpoints::load_best() const {
  if (!has_folder()) return best_.load();
  if (run_.is_writer()) load_parameters(read_best(run_.progress), run_.model);
}

}  // namespace dynet_like::nn
