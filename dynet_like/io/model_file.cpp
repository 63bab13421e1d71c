// Model files: everything is checked before a value is read.
#include "dynet_like/io/model_file.h"

#include <memory>
#include <span>
#include <vector>

#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like {

using namespace detail;

namespace {

void load(const TensorEntries& file, const tensor_file::Parameters& parameters,
          std::span<const tensor_file::NamedTensor> tensors, ExtraTensors extra) {
  tensor_file::check(file, tensors, extra == ExtraTensors::refuse);
  tensor_file::read(file, tensors, parameters);
}

void load_one(const TensorEntries& file, const std::string& name,
              const std::shared_ptr<ParameterStorage>& storage) {
  std::vector<tensor_file::NamedTensor> tensors = tensor_file::tensors_of({storage});
  tensors[0].name = name;
  load(file, {storage}, tensors, ExtraTensors::ignore);
}

}  // namespace

void save_parameters(const std::string& path, const ParameterCollection& collection,
                     const Metadata& metadata) {
  tensor_file::check_keys(metadata);
  const auto tensors = tensor_file::tensors_of(collection.storages());
  write_safetensors(path, tensor_file::entries_of(tensors).entries, metadata);
}

Metadata load_parameters(const std::string& path, const ParameterCollection& collection,
                         ExtraTensors extra) {
  return load_parameters(SafetensorsFile::read(path), collection, extra);
}

Metadata load_parameters(const SafetensorsFile& file, const ParameterCollection& collection,
                         ExtraTensors extra) {
  const tensor_file::Parameters parameters = collection.storages();
  Metadata metadata = tensor_file::user_metadata(file);
  load(file, parameters, tensor_file::tensors_of(parameters), extra);
  return metadata;
}

void save_npz(const std::string& path, const ParameterCollection& collection) {
  const auto tensors = tensor_file::tensors_of(collection.storages());
  write_npz(path, tensor_file::entries_of(tensors).entries);
}

void load_npz(const std::string& path, const ParameterCollection& collection, ExtraTensors extra) {
  const tensor_file::Parameters parameters = collection.storages();
  load(NumpyFile::read(path), parameters, tensor_file::tensors_of(parameters), extra);
}

void load_parameter(const TensorEntries& file, const std::string& name,
                    const Parameter& parameter) {
  parameter.get_storage();  // throws if there is none
  load_one(file, name, parameter.p);
}

void load_parameter(const TensorEntries& file, const std::string& name,
                    const LookupParameter& table) {
  table.get_storage();
  load_one(file, name, table.p);
}

}  // namespace dynet_like
