// Parameters in DyNet's text files.
#include "dynet/io.h"

#include "dynet/globals.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/io/text_model.h"

namespace dynet {

using dynet_like::FileError;
using dynet_like::detail::TextModelEntry;
using dynet_like::detail::TextModelReader;
using dynet_like::detail::TextModelWriter;

namespace {

// Keys are paths: "/encoder" may be given with the slash or without.
std::string path_of(const std::string& key) {
  std::string path = key.starts_with('/') ? key : "/" + key;
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Populates one handle.
void fill(const TextModelEntry& entry, const Dim& dim, ParameterStorageBase& storage,
          const std::string& filename) {
  if (entry.dim != dim) {
    throw FileError(filename, "[populate] need " + to_string(dim) + " for " + storage.name +
                                  "; got " + to_string(entry.dim) + " of " + entry.name);
  }
  storage.clear();
  std::copy(entry.values.begin(), entry.values.end(),
            dynet_like::LookupParameter(storage.core).all_values().v);
}
void add_gradient(const TextModelEntry& entry, auto& storage) {
  std::vector<float> gradient = entry.gradient;
  if (!gradient.empty()) storage.accumulate_grad(Tensor(entry.dim, gradient.data()));
}

}  // namespace

void TextFileSaver::save(const ParameterCollection& model, const std::string& key) {
  TextModelWriter writer(filename_, append_);
  const ParameterCollectionStorage& all = model.get_storage();
  const auto write = [&](const ParameterStorageBase& parameter) {
    TextModelEntry entry = text_model_entry(*parameter.core, &detail::gradients());
    if (!key.empty()) {
      entry.name = path_of(key) + "/" + entry.name.substr(model.get_fullname().size());
    }
    writer.write(entry);
  };
  for (const auto& parameter : all.params) write(*parameter);
  for (const auto& table : all.lookup_params) write(*table);
  writer.commit();
  append_ = true;
}
void TextFileSaver::save(const Parameter& param, const std::string& key) {
  save(static_cast<const dynet_like::Parameter&>(param).get_storage(), key);
}
void TextFileSaver::save(const LookupParameter& param, const std::string& key) {
  save(static_cast<const dynet_like::LookupParameter&>(param).get_storage(), key);
}
void TextFileSaver::save(const dynet_like::ParameterStorage& parameter, const std::string& key) {
  TextModelWriter writer(filename_, append_);
  TextModelEntry entry = text_model_entry(parameter, &detail::gradients());
  if (!key.empty()) entry.name = path_of(key);
  writer.write(entry);
  writer.commit();
  append_ = true;
}

void TextFileLoader::populate(ParameterCollection& model, const std::string& key) {
  load_text_model(filename_, model, key.empty() ? key : path_of(key), &detail::gradients());
}

TextModelEntry TextFileLoader::find(bool is_table, const std::string& key) const {
  TextModelReader reader(filename_);
  std::vector<std::string> names;
  while (reader.next()) {
    if (reader.header().is_table != is_table) continue;
    if (key.empty() || reader.header().name == path_of(key)) return reader.read();
    names.push_back(reader.header().name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw FileError(filename_, std::string("[TextFileLoader] need ") +
                                 (is_table ? "#LookupParameter# " : "#Parameter# ") +
                                 (key.empty() ? "" : path_of(key)) + "; got none" +
                                 dynet_like::detail::nearest_names_text(path_of(key), views));
}

void TextFileLoader::populate(Parameter& param, const std::string& key) {
  const TextModelEntry entry = find(false, key);
  ParameterStorage& storage = param.get_storage();
  fill(entry, storage.dim, storage, filename_);
  add_gradient(entry, storage);
}
void TextFileLoader::populate(LookupParameter& lookup_param, const std::string& key) {
  const TextModelEntry entry = find(true, key);
  LookupParameterStorage& storage = lookup_param.get_storage();
  fill(entry, storage.all_dim, storage, filename_);
  add_gradient(entry, storage);
}

Parameter TextFileLoader::load_param(ParameterCollection& model, const std::string& key) {
  const TextModelEntry entry = find(false, key);
  const Parameter result = model.add_parameters(entry.dim, ParameterInitFromVector(entry.values));
  add_gradient(entry, result.get_storage());
  return result;
}
LookupParameter TextFileLoader::load_lookup_param(ParameterCollection& model,
                                                  const std::string& key) {
  const TextModelEntry entry = find(true, key);
  Dim row = entry.dim;
  row.resize(row.nd - 1);
  const LookupParameter result = model.add_lookup_parameters(entry.dim.d[entry.dim.nd - 1], row,
                                                             ParameterInitFromVector(entry.values));
  add_gradient(entry, result.get_storage());
  return result;
}

void save_dynet_model(std::string filename, ParameterCollection* model) {
  TextFileSaver(filename).save(*model);
}
void load_dynet_model(std::string filename, ParameterCollection* model) {
  TextFileLoader(filename).populate(*model);
}

}  // namespace dynet
