// The names of the batching policies.
#include "batching/policy.h"

#include <array>
#include <utility>

namespace dynet_like::batching {
namespace {

constexpr std::array<std::pair<Policy, std::string_view>, 5> names{{{Policy::none, "none"},
                                                                    {Policy::depth, "depth"},
                                                                    {Policy::agenda, "agenda"},
                                                                    {Policy::descent, "descent"},
                                                                    {Policy::automatic, "auto"}}};

}  // namespace

std::string_view name_of(Policy policy) {
  for (const auto& [value, name] : names) {
    if (value == policy) return name;
  }
  return "unknown";
}

std::optional<Policy> policy_from_name(std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace dynet_like::batching
