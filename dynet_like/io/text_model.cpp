// Text models of collections: the first pass checks shapes, the second reads numbers.
#include "dynet_like/io/text_model.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/text_model_file.h"

namespace dynet_like {

using namespace detail;

namespace {

using Storages = std::vector<std::shared_ptr<ParameterStorage>>;

Storages storages_of(const ParameterCollection& collection, bool tables) {
  Storages storages = collection.storages();
  std::erase_if(storages, [&](const auto& parameter) { return parameter->is_table != tables; });
  return storages;
}

// The parameters that a collection takes from a file, in the order of the file.
struct Wanted {
  Storages parameters, tables;
  std::string key;  // empty, or a path that ends with a slash
};

// "/lstm" contains "/lstm/b", but not "/lstm_1/b".
std::string folder_of(std::string_view key) {
  std::string folder(key);
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  return folder;
}

[[noreturn]] void fail(const TextModelReader& reader, const std::string& need,
                       const std::string& got) {
  throw FileError(reader.file(), fmt::format("[load] need {}; got {}", need, got), reader.line());
}

// Calls visit(reader, parameter) for each object of the file that is wanted.
template <class Visit>
void for_each_wanted(const std::filesystem::path& path, const Wanted& wanted, const Visit& visit) {
  TextModelReader reader(path);
  std::size_t parameters = 0, tables = 0;
  std::vector<std::string> others;
  while (reader.next()) {
    const TextModelHeader& header = reader.header();
    if (!header.name.starts_with(wanted.key)) {
      others.push_back(header.name);
      continue;
    }
    const Storages& storages = header.is_table ? wanted.tables : wanted.parameters;
    const std::size_t place = header.is_table ? tables++ : parameters++;
    if (place >= storages.size()) continue;
    if (storages[place]->dim != header.dim) {
      fail(reader, fmt::format("{} for {}", to_string(storages[place]->dim), storages[place]->name),
           fmt::format("{} of {}", to_string(header.dim), header.name));
    }
    visit(reader, *storages[place]);
  }
  if (parameters != wanted.parameters.size() || tables != wanted.tables.size()) {
    const std::vector<std::string_view> views(others.begin(), others.end());
    fail(reader,
         fmt::format("{} and {} with names that begin {}",
                     counted(wanted.parameters.size(), "parameter"),
                     counted(wanted.tables.size(), "table"), quoted_text(wanted.key)),
         fmt::format("{} and {}{}", parameters, tables,
                     parameters + tables > 0 ? "" : nearest_names_text(wanted.key, views)));
  }
}

void copy(const std::vector<float>& numbers, const Tensor& to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) to.set(i, static_cast<double>(numbers[i]));
}

void assign(ParameterStorage& parameter, const std::vector<float>& values) {
  parameter.refresh_rows();
  copy(values, parameter.tensor());
  parameter.values_written();
}

}  // namespace

TextModelEntry text_model_entry(const ParameterStorage& parameter, const Gradients* gradients) {
  parameter.refresh_rows();
  return {parameter.is_table, parameter.name, parameter.dim, as_vector(parameter.tensor()),
          gradients == nullptr ? std::vector<float>() : gradients->all_values(parameter)};
}

void save_text_model(const std::string& path, const ParameterCollection& collection,
                     const Gradients* gradients) {
  TextModelWriter writer(path);
  for (const bool tables : {false, true}) {
    for (const auto& parameter : storages_of(collection, tables)) {
      writer.write(text_model_entry(*parameter, gradients));
    }
  }
  writer.commit();
}

void load_text_model(const std::string& path, const ParameterCollection& collection,
                     std::string_view key, Gradients* gradients) {
  const Wanted wanted = {storages_of(collection, false), storages_of(collection, true),
                         folder_of(key)};
  for_each_wanted(path, wanted, [](TextModelReader&, ParameterStorage&) {});
  std::vector<std::pair<ParameterStorage*, TextModelEntry>> loaded;
  for_each_wanted(path, wanted, [&](TextModelReader& reader, ParameterStorage& parameter) {
    loaded.emplace_back(&parameter, reader.read());
  });
  for (const auto& [parameter, entry] : loaded) {
    // Then all rows of a table have a gradient, as in DyNet.
    if (gradients != nullptr) gradients->set_values(*parameter, entry.gradient);
  }
  for (const auto& [parameter, entry] : loaded) assign(*parameter, entry.values);  // cannot fail
}

}  // namespace dynet_like
