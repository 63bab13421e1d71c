// Numbers of a device as doubles in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/params/gradients.h"
#include "dynet_like/params/parameter_collection.h"

namespace dynet_like {

/// The bytes of a parameter's values.
inline std::vector<std::byte> bytes_of(const ParameterStorage& storage) {
  const auto* const bytes = static_cast<const std::byte*>(storage.tensor().data());
  return {bytes, bytes + storage.size() * size_of(storage.dtype)};
}

/// The values of all parameters of a collection, with all rows up to date: as bytes, and as floats.
inline std::vector<std::byte> bytes_of(const ParameterCollection& collection) {
  std::vector<std::byte> all;
  for (const auto& storage : collection.storages()) {
    storage->refresh_rows();
    const std::vector<std::byte> bytes = bytes_of(*storage);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}
inline std::vector<float> values_of(const ParameterCollection& collection) {
  std::vector<float> all;
  for (const auto& storage : collection.storages()) {
    storage->refresh_rows();
    const std::vector<float> values = as_vector(storage->tensor());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// `count` numbers of the storage's type from an address on its device.
inline std::vector<double> numbers_at(const ParameterStorage& storage, const void* there,
                                      std::size_t count) {
  std::vector<double> numbers(count);
  if (storage.dtype == DType::f64) {
    storage.device().read(numbers.data(), there, count * sizeof(double));
    return numbers;
  }
  std::vector<float> floats(count);
  storage.device().read(floats.data(), there, count * sizeof(float));
  return {floats.begin(), floats.end()};
}

inline void add_at(const ParameterStorage& storage, void* there, const std::vector<double>& more) {
  std::vector<double> numbers = numbers_at(storage, there, more.size());
  for (std::size_t i = 0; i < more.size(); ++i) numbers[i] += more[i];
  if (storage.dtype == DType::f64) {
    storage.device().write(there, numbers.data(), numbers.size() * sizeof(double));
    return;
  }
  const std::vector<float> floats(numbers.begin(), numbers.end());
  storage.device().write(there, floats.data(), floats.size() * sizeof(float));
}

/// Adds to the gradient of a parameter, or of a row of a table.
inline void add_to(Gradients& gradients, const Parameter& parameter,
                   const std::vector<double>& more) {
  const ParameterStorage& storage = parameter.get_storage();
  add_at(storage, gradients.dense(storage), more);
}
inline void add_to(Gradients& gradients, const LookupParameter& table, std::uint32_t row,
                   const std::vector<double>& more) {
  const ParameterStorage& storage = table.get_storage();
  Gradients::Rows& rows = gradients.rows(storage);
  rows.touch(storage, std::span(&row, 1));
  add_at(storage, rows.entry(storage, row), more);
}

}  // namespace dynet_like
