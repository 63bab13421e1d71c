// BestModel: keeps and loads copies of parameters.
#include "nn/train/best_model.h"

#include <cstring>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

void BestModel::keep(const Metadata& metadata) {
  if (!file_.empty()) return save_parameters(file_, model_, metadata);
  std::vector<Values> values;
  for (const auto& parameter : model_.storages()) {
    parameter->refresh_rows();
    const auto* const bytes = static_cast<const std::byte*>(parameter->tensor().data());
    values.push_back({parameter, {bytes, bytes + parameter->size() * size_of(parameter->dtype)}});
  }
  values_ = std::move(values);
}

void BestModel::load() const {
  if (!file_.empty()) {
    load_parameters(file_, model_);
    return;
  }
  if (values_.empty()) throw UsageError("[BestModel] need a model that was kept; got none");
  for (const auto& [parameter, bytes] : values_) {
    parameter->refresh_rows();
    std::memcpy(parameter->tensor_to_fill().data(), bytes.data(), bytes.size());
    parameter->values_written();
  }
}

}  // namespace dynet_like::nn
