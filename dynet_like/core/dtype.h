// The element types that a node can have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynet_like {

/// float for work, double for checking gradients.
enum class DType : std::uint8_t { f32, f64 };

constexpr std::size_t size_of(DType dtype) { return dtype == DType::f32 ? 4 : 8; }
constexpr const char* name_of(DType dtype) { return dtype == DType::f32 ? "float" : "double"; }

template <class T>
inline constexpr DType dtype_of = sizeof(T) == 4 ? DType::f32 : DType::f64;

}  // namespace dynet_like
