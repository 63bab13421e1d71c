// Compares ranks: texts by name, and digests of numbers.
#include "dynet_like/distributed/alike.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/device/cpu/digest.h"
#include "dynet_like/device/instruction_set.h"
#include "dynet_like/params/collection_values.h"

namespace dynet_like {

namespace {

using Texts = std::map<std::string, std::string>;

constexpr std::size_t kShown = 40;  // bytes of a text that a message shows

std::vector<Texts> texts_of_all(Communicator& ranks, const Texts& mine) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::vector<Texts> all;
  for (const std::string& text :
       gather_texts(ranks, nlohmann::json(mine).dump(-1, ' ', false, kReplace))) {
    all.push_back(nlohmann::json::parse(text).get<Texts>());
  }
  return all;
}

std::uint64_t digest_of_values(const Tensor& values) {
  return detail::digest(values.data(), values.d.size() * size_of(values.dtype()));
}

std::string flags_of(const ParameterStorage& storage) {
  return fmt::format("{}{}", storage.updated ? "" : ", not updated",
                     storage.frozen ? ", frozen" : "");
}

std::string state_of(const ParameterStorage& storage) {
  storage.refresh_rows();
  return fmt::format("{}{}, digest {:016x}", detail::description_of(storage), flags_of(storage),
                     digest_of_values(storage.tensor()));
}

// Where the shown part of two texts begins: at the beginning, or at their difference if that is
// later.
std::size_t place_of_difference(const std::string& a, const std::string& b) {
  constexpr std::size_t kBefore = 10;
  const auto length = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  const auto place = std::mismatch(a.begin(), a.begin() + length, b.begin()).first - a.begin();
  const auto at = static_cast<std::size_t>(place);
  return at + kBefore < kShown ? 0 : at - kBefore;
}

std::string shown(const std::string* text, std::size_t from) {
  if (text == nullptr) return "nothing";
  return (from > 0 ? "..." : "") + detail::quoted_text(std::string_view(*text).substr(from));
}

// Adds digests of moments and averages.
void describe_state(Trainer& trainer, Texts& texts) {
  const TrainerState state = trainer.state();
  texts["trainer's updates"] = fmt::to_string(state.updates);
  for (const TrainerState::Moment& moment : state.moments) {
    texts[fmt::format("moment {} of {}", moment.name, moment.parameter->name)] =
        fmt::format("digest {:016x}", digest_of_values(moment.values));
  }
  for (const TrainerState::Average& average : state.averages) {
    texts["average of " + average.parameter->name] =
        fmt::format("{}, digest {:016x}", detail::counted(average.count, "value"),
                    digest_of_values(average.values));
  }
}

}  // namespace

namespace detail {

std::optional<Difference> difference_of(const Texts& first, const Texts& second) {
  Texts all = first;
  all.insert(second.begin(), second.end());
  const auto find = [](const Texts& texts, const std::string& name) {
    const auto found = texts.find(name);
    return found == texts.end() ? nullptr : &found->second;
  };
  for (const auto& [name, text] : all) {
    const std::string *const a = find(first, name), *const b = find(second, name);
    const bool have_both = a != nullptr && b != nullptr;
    if (have_both && *a == *b) continue;
    const std::size_t from = have_both ? place_of_difference(*a, *b) : 0;
    return Difference{name, shown(a, from), shown(b, from)};
  }
  return {};
}

void check_alike(Communicator& ranks, const std::string& rule, const Texts& mine) {
  if (ranks.size() == 1) return;
  const std::vector<Texts> all = texts_of_all(ranks, mine);
  for (unsigned r = 1; r < ranks.size(); ++r) {
    const std::optional<Difference> found = difference_of(all[0], all[r]);
    if (!found) continue;
    throw UsageError(fmt::format("{} on all ranks; got as {}: {} on {}, and {} on {}", rule,
                                 found->name, found->first, ranks.name(0), found->second,
                                 ranks.name(r)));
  }
}

// Settings are compared before state. If averages stand in for the weights, which is a setting,
// there is no state: a rank that found this out alone would leave the others waiting.
void check_alike(Communicator& ranks, const std::string& rule, Texts mine, Trainer& trainer,
                 const ParameterCollection& parameters) {
  if (ranks.size() == 1) return;
  mine["instruction set"] = instruction_set();
  describe_settings(trainer, mine);
  check_alike(ranks, rule, mine);
  Texts state;
  describe_state(trainer, state);
  describe(parameters, state);
  check_alike(ranks, rule, state);
}

std::uint64_t digest_of(const ParameterCollection& parameters) {
  std::string all;
  for (const auto& storage : parameters.storages()) {
    all += storage->name + ' ' + state_of(*storage) + '\n';
  }
  return digest(all.data(), all.size());
}

std::string list_of(const ParameterCollection& parameters) {
  std::string list;
  for (const auto& storage : parameters.storages()) {
    list += fmt::format("{}{}{}", list.empty() ? "" : "; ", storage->name, flags_of(*storage));
  }
  return list;
}

void describe(const ParameterCollection& parameters, Texts& texts) {
  texts["parameters"] = list_of(parameters);
  for (const auto& storage : parameters.storages()) {
    texts["parameter " + storage->name] = state_of(*storage);
  }
}

void describe_settings(const Trainer& trainer, Texts& texts) {
  for (const auto& [name, value] : trainer.settings()) texts["trainer's " + name] = value;
}

}  // namespace detail

}  // namespace dynet_like
