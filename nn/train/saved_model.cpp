// SavedModel: reads entries of its metadata.
#include "nn/train/saved_model.h"

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like::nn {

const std::string& SavedModel::text(const std::string& name) const {
  const auto found = file_.metadata().find(name);
  if (found != file_.metadata().end()) return found->second;
  throw FileError(file_.name(), fmt::format("need a model with {} in its metadata; got none{}",
                                            detail::quoted_text(name),
                                            detail::nearest_keys_text(name, file_.metadata())));
}

Vocabulary SavedModel::vocabulary(const std::string& name) const {
  return Vocabulary::from_text(text(name), fmt::format("{}, {}", file_.name(), name));
}

void SavedModel::load(const ParameterCollection& model, ExtraTensors extra) const {
  for (const auto& parameter : model.storages()) {
    const TensorEntry* const entry = file_.find(parameter->name);
    const auto nan = entry == nullptr ? std::nullopt : detail::tensor_file::first_nan(*entry);
    if (!nan) continue;
    throw NumericError(
        fmt::format("[load] need values that are numbers; got nan for \"{}\", element {} of its "
                    "tensor in {}",
                    parameter->name, *nan, file_.name()));
  }
  load_parameters(file_, model, extra);
}

}  // namespace dynet_like::nn
