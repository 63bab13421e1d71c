// Model files: checks first, then values.
#include "dynet_like/io/model_file.h"

#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like {

void save_parameters(const std::filesystem::path& path, const ParameterCollection& collection,
                     const Metadata& metadata) {
  tensor_file::check_keys(metadata);
  tensor_file::write(path, tensor_file::tensors_of(collection), metadata);
}

Metadata load_parameters(const std::filesystem::path& path, const ParameterCollection& collection,
                         ExtraTensors extra) {
  return load_parameters(SafetensorsFile::read(path), collection, extra);
}

Metadata load_parameters(const SafetensorsFile& file, const ParameterCollection& collection,
                         ExtraTensors extra) {
  tensor_file::check(file, tensor_file::tensors_of(collection), extra == ExtraTensors::refuse);
  tensor_file::read(file, collection);
  return tensor_file::user_metadata(file);
}

}  // namespace dynet_like
