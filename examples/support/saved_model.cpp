// Models by their metadata.
#include "examples/support/saved_model.h"

#include <filesystem>

#include <fmt/core.h>

#include "dynet_like/core/text.h"

namespace dynet_like::examples {

std::string best_file(const std::string& output) {
  return std::filesystem::path(output) / "best.safetensors";
}

SavedModel::SavedModel(const std::string& output, const std::string& example)
    : file_(SafetensorsFile::read(best_file(output))), options_(flags_of(file_.metadata())) {
  if (const std::string& trained = text("example"); trained != example) {
    throw FileError(file_.name(), fmt::format("need a model of {}; got one of {}", example,
                                              quoted_text(trained)));
  }
}

const std::string& SavedModel::text(const std::string& name) const {
  const auto found = file_.metadata().find(name);
  if (found != file_.metadata().end()) return found->second;
  throw FileError(file_.name(),
                  fmt::format("need a model with \"{}\" in its metadata; got none", name));
}

nn::Vocabulary SavedModel::vocabulary(const std::string& name) const {
  return nn::Vocabulary::from_text(text(name), fmt::format("{}, {}", file_.name(), name));
}

}  // namespace dynet_like::examples
