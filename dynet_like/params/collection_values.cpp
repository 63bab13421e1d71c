// Copies and checks the values of a collection.
#include "dynet_like/params/collection_values.h"

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/first_nan.h"

namespace dynet_like {

namespace {

using Storage = std::shared_ptr<ParameterStorage>;

std::string_view name_in(const ParameterCollection& collection, const ParameterStorage& storage) {
  return std::string_view(storage.name).substr(collection.get_fullname().size());
}

[[noreturn]] void refuse_alone(const ParameterStorage& storage, const char* side) {
  throw UsageError(
      fmt::format("[copy_values] need the same parameters in both collections; got \"{}\" only in "
                  "the one to copy {}",
                  storage.name, side));
}

std::vector<std::pair<Storage, Storage>> pairs_of(const ParameterCollection& from,
                                                  const ParameterCollection& to) {
  std::unordered_map<std::string_view, Storage> targets;
  const std::vector<Storage> all = to.storages();
  for (const Storage& storage : all) targets.emplace(name_in(to, *storage), storage);
  std::vector<std::pair<Storage, Storage>> pairs;
  for (const Storage& storage : from.storages()) {
    const auto found = targets.find(name_in(from, *storage));
    if (found == targets.end()) refuse_alone(*storage, "from");
    const std::string source = detail::description_of(*storage);
    const std::string target = detail::description_of(*found->second);
    if (source != target) {
      throw UsageError(fmt::format("[copy_values] need {} for \"{}\"; got {} of \"{}\"", target,
                                   found->second->name, source, storage->name));
    }
    pairs.emplace_back(storage, std::move(found->second));
    targets.erase(found);
  }
  for (const Storage& storage : all) {
    if (targets.contains(name_in(to, *storage))) refuse_alone(*storage, "to");
  }
  return pairs;
}

// The message begins with `caller`.
void refuse_nan(const ParameterCollection& parameters, const char* caller) {
  for (const Storage& storage : parameters.storages()) {
    storage->refresh_rows();
    const std::span bytes(static_cast<const std::byte*>(storage->tensor().data()),
                          storage->size() * size_of(storage->dtype));
    const std::optional<std::size_t> nan = detail::first_nan(bytes, storage->dtype);
    if (!nan) continue;
    const std::size_t entry = storage->entry_size();
    throw NumericError(
        fmt::format("[{}] need values that are numbers; got nan for \"{}\", element {}{}", caller,
                    storage->name, *nan % entry,
                    storage->is_table ? fmt::format(" of row {}", *nan / entry) : ""));
  }
}

}  // namespace

std::string detail::description_of(const ParameterStorage& storage) {
  return fmt::format("{} {}{}", name_of(storage.dtype), to_string(storage.dim),
                     storage.is_table ? ", a table" : "");
}

void copy_values(const ParameterCollection& from, const ParameterCollection& to) {
  const auto pairs = pairs_of(from, to);
  refuse_nan(from, "copy_values");
  // On a GPU this allocates a copy on the host, as refuse_nan() did for `from`. All allocations
  // come first, so that a failure changes nothing.
  for (const auto& [source, target] : pairs) {
    target->refresh_rows();
    target->tensor();
  }
  for (const auto& [source, target] : pairs) {
    if (source == target) continue;
    std::memcpy(target->tensor_to_fill().data(), source->tensor().data(),
                source->size() * size_of(source->dtype));
    target->values_written();
  }
}

void check_no_nan(const ParameterCollection& parameters) { refuse_nan(parameters, "check_no_nan"); }

}  // namespace dynet_like
