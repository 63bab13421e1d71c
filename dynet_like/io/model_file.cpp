// Model files: checks first, then values.
#include "dynet_like/io/model_file.h"

#include <vector>

#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like {

void save_parameters(const std::filesystem::path& path, const ParameterCollection& collection,
                     const Metadata& metadata) {
  tensor_file::check_keys(metadata);
  tensor_file::write(path, tensor_file::tensors_of(collection.storages()), metadata);
}

Metadata load_parameters(const std::filesystem::path& path, const ParameterCollection& collection,
                         ExtraTensors extra) {
  return load_parameters(SafetensorsFile::read(path), collection, extra);
}

Metadata load_parameters(const SafetensorsFile& file, const ParameterCollection& collection,
                         ExtraTensors extra) {
  const tensor_file::Parameters parameters = collection.storages();
  const std::vector<tensor_file::NamedTensor> tensors = tensor_file::tensors_of(parameters);
  tensor_file::check(file, tensors, extra == ExtraTensors::refuse);
  Metadata metadata = tensor_file::user_metadata(file);
  tensor_file::read(file, tensors, parameters);
  return metadata;
}

}  // namespace dynet_like
