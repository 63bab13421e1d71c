// Results that ranks exchange as bytes: numbers, strings, and vectors of these.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/communicator.h"

namespace dynet_like::nn {

template <class T>
constexpr bool is_shared_result() {
  if constexpr (requires(T & list) { list.resize(list.size()), list.data(); }) {
    return is_shared_result<typename T::value_type>();
  } else {
    return std::is_arithmetic_v<T> || std::is_enum_v<T>;
  }
}

/// A number, or a string or vector of shared results (but not a vector of bool).
template <class T>
concept SharedResult = is_shared_result<T>();

template <SharedResult T>
void append_result(Communicator::Bytes& bytes, const T& result) {
  if constexpr (requires { result.size(); }) {
    append_result(bytes, result.size());
    for (const auto& element : result) append_result(bytes, element);
  } else {
    append_bytes(bytes, &result, sizeof(result));
  }
}

/// Reads a result from the first bytes, and removes these. Throws RankError if there are not
/// enough.
template <SharedResult T>
void read_result(std::span<const std::byte>& bytes, T& result) {
  if constexpr (requires { result.size(); }) {
    std::size_t size = 0;
    read_result(bytes, size);
    if (size > bytes.size())
      throw RankError("[Communicator] need whole results; got incomplete ones");
    result.resize(size);
    for (auto& element : result) read_result(bytes, element);
  } else {
    if (sizeof(result) > bytes.size()) {
      throw RankError("[Communicator] need whole results; got incomplete ones");
    }
    std::memcpy(&result, bytes.data(), sizeof(result));
    bytes = bytes.subspan(sizeof(result));
  }
}

}  // namespace dynet_like::nn
