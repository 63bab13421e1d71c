// The best model of a training run: one file has all that it takes to use it.
#pragma once

#include <string>

#include "dynet_like/dynet_like.h"
#include "dynet_like/io/safetensors.h"
#include "examples/support/command_line.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

/// Where a run keeps its best model in its output folder: the parameters, with its settings and
/// vocabularies as metadata. Training replaces the file as a whole.
std::string best_file(const std::string& output);

/// That file, read at once: nothing that replaces it later can mix with it.
class SavedModel {
 public:
  /// Throws FileError unless there is a model that this example has trained.
  SavedModel(const std::string& output, const std::string& example);

  /// The settings of its run that are flags.
  ValueReader options() const { return {options_, file_.name()}; }
  /// Throws FileError unless there is such a setting.
  const std::string& text(const std::string& name) const;
  nn::Vocabulary vocabulary(const std::string& name) const;
  /// Throws FileError unless the file has these parameters.
  void load(const ParameterCollection& parameters,
            ExtraTensors extra = ExtraTensors::refuse) const {
    load_parameters(file_, parameters, extra);
  }

 private:
  SafetensorsFile file_;
  OptionValues options_;
};

}  // namespace dynet_like::examples
