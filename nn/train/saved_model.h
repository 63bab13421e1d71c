// A model that a training run has saved: one file has all that it takes to use it.
#pragma once

#include <filesystem>
#include <string>

#include "dynet_like/io/model_file.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/data/vocabulary.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// The best model in a run's folder, read at once: nothing that replaces the file later can mix
/// with it. All members throw FileError for what the file lacks.
class SavedModel {
 public:
  explicit SavedModel(const std::filesystem::path& folder)
      : file_(SafetensorsFile::read(folder / "best.safetensors")) {}

  /// TrainingOptions::settings and texts, and what the run adds.
  const Metadata& metadata() const { return file_.metadata(); }
  /// One of them.
  const std::string& text(const std::string& name) const;
  /// The same as a number: double, float, unsigned or uint64_t.
  template <class Number>
  Number number(const std::string& name) const {
    return number_in<Number>(file_.metadata(), name, file_.name());
  }
  /// A text that Vocabulary::to_text() made.
  Vocabulary vocabulary(const std::string& name) const;
  /// Reads the parameters into a model that has them all. Throws NumericError, too, if one of them
  /// is NaN. Whatever it throws, the model stays as it was.
  void load(const ParameterCollection& model, ExtraTensors extra = ExtraTensors::refuse) const;

 private:
  SafetensorsFile file_;
};

}  // namespace dynet_like::nn
