// Checkpoints: saves them, and checks them when it reads them.
#include "nn/train/checkpoints.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"
#include "dynet_like/io/checkpoint.h"

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
                  "FileOptions::folder to that of the run, or resume to false");
}

}  // namespace

Checkpoints::Checkpoints(const TrainingOptions& options, const RunSettings& settings,
                         Trainer& trainer, bool is_writer)
    : options_(options),
      settings_(settings),
      trainer_(trainer),
      is_writer_(is_writer),
      file_(path_of("checkpoint.safetensors")),
      best_(trainer.parameters(), path_of("best.safetensors")) {
  const FileOptions& files = options.files;
  if (files.resume) check_exists(files.folder);
  if (!has_folder() || !is_writer_) return;
  std::error_code error;
  if (!files.resume) std::filesystem::create_directories(files.folder, error);
  if (error) {
    throw FileError(files.folder, fmt::format("need to make the folder; got: {}", error.message()));
  }
  lock_.emplace(files.folder);
  if (files.resume) check_exists(file_);
  // Finds out before training whether files can be written. Without a commit, none are left.
  for (const auto& file : {file_, best_.file()}) detail::AtomicFile check(file);
}

std::filesystem::path Checkpoints::path_of(const char* name) const {
  const std::filesystem::path folder = options_.files.folder;
  return folder.empty() ? folder : folder / name;
}

TrainingProgress Checkpoints::read() const {
  check_exists(file_);
  const SafetensorsFile file = SafetensorsFile::read(file_);
  settings_.check(file, options_.files.other_bits);
  TrainingProgress progress = TrainingProgress::from(file.metadata(), file.name());
  if (progress.best_epoch > 0 && is_writer_) read_best(progress);
  return progress;
}

void Checkpoints::load() const {
  Random random;  // every minibatch has its own
  load_checkpoint(file_, trainer_.parameters(), trainer_, random);
}

void Checkpoints::save(const TrainingProgress& progress) const {
  if (!has_folder()) throw UsageError("[TrainingRun] need a folder to save in; got none");
  if (!is_writer_) return;
  Metadata metadata = options_.files.arguments;
  settings_.add_to(metadata);
  progress.add_to(metadata);
  save_checkpoint(file_, trainer_.parameters(), trainer_, Random(options_.seed), metadata);
}

Metadata Checkpoints::best_metadata(const TrainingProgress& progress) const {
  Metadata metadata = settings_.chosen;
  metadata.insert(options_.files.texts.begin(), options_.files.texts.end());
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
  if (!has_folder() || is_writer_) best_.keep(best_metadata(progress));
}

void Checkpoints::load_best(const TrainingProgress& progress) const {
  if (!has_folder()) return best_.load();
  if (is_writer_) load_parameters(read_best(progress), trainer_.parameters());
}

}  // namespace dynet_like::nn
