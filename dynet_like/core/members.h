// The members of a struct, without their names.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace dynet_like::detail {

/// Converts to the type of any member of Struct, but not to Struct itself, which would be a copy.
template <class Struct>
struct AnyMember {
  template <class T>
  requires(!std::same_as<T, Struct>) operator T() const;
};

template <class Struct, std::size_t... i>
constexpr bool takes_members(std::index_sequence<i...>) {
  return requires { Struct{(static_cast<void>(i), AnyMember<Struct>())...}; };
}

inline constexpr std::size_t kMostMembers = 8;

/// The number of members of an aggregate; 0 if it has more than kMostMembers.
template <class Struct, std::size_t n = kMostMembers + 1>
constexpr std::size_t count_members() {
  if constexpr (n == 0) {
    return 0;
  } else if constexpr (takes_members<Struct>(std::make_index_sequence<n>())) {
    return n > kMostMembers ? 0 : n;
  } else {
    return count_members<Struct, n - 1>();
  }
}

/// A struct whose members can be listed: an aggregate without base classes and arrays in C's style.
template <class T>
concept ListedStruct = std::is_class_v<T> && std::is_aggregate_v<T> &&(count_members<T>() > 0);

/// References to the members.
template <ListedStruct Struct>
constexpr auto tie_members(Struct& all) {
  constexpr std::size_t n = count_members<std::remove_const_t<Struct>>();
  if constexpr (n == 1) {
    auto& [a] = all;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = all;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = all;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = all;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = all;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = all;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = all;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = all;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

}  // namespace dynet_like::detail
