// Model files: everything is checked before a value is read.
#include "dynet_like/io/model_file.h"

#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/io/npz.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/io/safetensors_header.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like {

using namespace detail;
using safetensors::shown;

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

LoadReport load_matching(const TensorEntries& file, const ParameterCollection& collection) {
  LoadReport report;
  tensor_file::Parameters fitting;
  std::set<std::string_view> names;
  for (const auto& parameter : collection.storages()) {
    names.insert(parameter->name);
    const TensorEntry* const entry = file.find(parameter->name);
    if (entry == nullptr) {
      report.missing.push_back(parameter->name);
      continue;
    }
    const auto mismatch = tensor_file::mismatch_of(
        *entry, {parameter->name, parameter->tensor(), parameter->is_table});
    if (mismatch) {
      report.mismatched.push_back({parameter->name, mismatch->wanted, mismatch->found});
    } else {
      report.loaded.push_back(parameter->name);
      fitting.push_back(parameter);
    }
  }
  for (const TensorEntry& entry : file.entries()) {
    if (names.contains(entry.name) || entry.name.starts_with(tensor_file::kTrainer)) continue;
    report.left_over.push_back(entry.name);
  }
  tensor_file::read(file, tensor_file::tensors_of(fitting), fitting);
  return report;
}

LoadReport load_matching(const std::string& path, const ParameterCollection& collection) {
  return load_matching(SafetensorsFile::read(path), collection);
}

std::string LoadReport::text() const {
  std::string text = fmt::format("loaded {}\n", counted(loaded.size(), "parameter"));
  for (const std::string& name : missing) text += fmt::format("not in the file: {}\n", shown(name));
  for (const std::string& name : left_over) {
    text += fmt::format("only in the file: {}\n", shown(name));
  }
  for (const Mismatch& one : mismatched) {
    text +=
        fmt::format("other in the file: {}, {} for {}\n", shown(one.name), one.found, one.wanted);
  }
  return text;
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
