// The names of the batching policies.
#pragma once

#include <optional>
#include <string_view>

namespace dynet_like::batching {

/// How nodes are grouped into batches. Each policy is described in the file of its name.
enum class Policy { none, depth, agenda, descent, automatic };
inline constexpr Policy kPolicies[] = {Policy::none, Policy::depth, Policy::agenda, Policy::descent,
                                       Policy::automatic};

/// "none", "depth", "agenda", "descent" or "auto".
std::string_view name_of(Policy policy);

/// The policy with this name, or nothing if there is none.
std::optional<Policy> policy_from_name(std::string_view name);

}  // namespace dynet_like::batching
