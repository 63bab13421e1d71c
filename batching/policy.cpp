// The names of the batching policies.
#include "batching/policy.h"

#include <iterator>

namespace dynet_like::batching {
namespace {

constexpr std::string_view kNames[] = {"none", "depth", "agenda", "descent", "auto"};
static_assert(std::size(kNames) == std::size(kPolicies));

}  // namespace

std::string_view name_of(Policy policy) {
  const auto index = static_cast<std::size_t>(policy);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::optional<Policy> policy_from_name(std::string_view name) {
  for (const Policy policy : kPolicies) {
    if (name_of(policy) == name) return policy;
  }
  return std::nullopt;
}

}  // namespace dynet_like::batching
