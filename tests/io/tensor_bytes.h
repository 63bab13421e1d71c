// Numbers as the bytes of a tensor in a file, and back.
#pragma once

#include "dynet_like/io/tensor_entries.h"

namespace dynet_like {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const TensorEntry& entry) {
  std::vector<T> values(entry.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

}  // namespace dynet_like
