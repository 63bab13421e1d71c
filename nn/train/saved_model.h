// SavedModel: a model that a training run has saved. One file has everything needed to use it.
#pragma once

#include <filesystem>
#include <string>

#include "dynet_like/io/model_file.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/params/parameter_collection.h"
#include "nn/data/vocabulary.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// The best model in a run's folder, or a file of save_parameters, whose name ends in
/// ".safetensors". The whole file is read at once, so replacing it later does no harm. All members
/// throw FileError for anything that the file lacks.
class SavedModel {
 public:
  explicit SavedModel(const std::filesystem::path& path)
      : file_(SafetensorsFile::read(
            path.extension() == ".safetensors" ? path : path / "best.safetensors")) {}

  /// FileOptions::settings and texts, and the run's own entries.
  const Metadata& metadata() const { return file_.metadata(); }
  /// An entry.
  const std::string& text(const std::string& name) const;
  /// An entry as a number: double, float, unsigned or uint64_t.
  template <class Number>
  Number number(const std::string& name) const {
    return number_in<Number>(file_.metadata(), name, file_.name());
  }
  /// An entry that Vocabulary::to_text() made.
  Vocabulary vocabulary(const std::string& name) const;
  /// Reads the parameters into a model with the same parameters. Also throws NumericError if a
  /// value is NaN. After an exception the model is unchanged.
  void load(const ParameterCollection& model, ExtraTensors extra = ExtraTensors::refuse) const;

 private:
  SafetensorsFile file_;
};

}  // namespace dynet_like::nn
