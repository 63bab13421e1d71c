// The best model of a run: its parameters, kept in a file or in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "dynet_like/io/model_file.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like::nn {

class BestModel {
 public:
  /// With an empty path, models are kept in memory.
  BestModel(const ParameterCollection& model, std::filesystem::path file)
      : model_(model), file_(std::move(file)) {}

  const std::filesystem::path& file() const { return file_; }
  /// Keeps the present parameters instead of the earlier ones. A file also gets the metadata, and
  /// is replaced atomically. Throws FileError; then the earlier model is still there.
  void keep(const Metadata& metadata);
  /// Loads the kept parameters into the model. Throws FileError; UsageError if memory has none.
  void load() const;

 private:
  struct Values {
    std::shared_ptr<ParameterStorage> parameter;
    std::vector<std::byte> bytes;
  };

  ParameterCollection model_;
  std::filesystem::path file_;
  std::vector<Values> values_;
};

}  // namespace dynet_like::nn
