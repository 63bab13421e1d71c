// Errors that name the labels of the values they are about.
#pragma once

#include <span>

#include "dynet_like/core/errors.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

/// f(), whose errors say which labels the values have. Labels are looked up then only.
template <class F>
decltype(auto) with_labels(const Tape& tape, std::span<const ValueId> values, const F& f) {
  try {
    return f();
  } catch (const ShapeError& error) {
    throw ShapeError(error.what() + tape.labels_of(values));
  } catch (const UsageError& error) {
    throw UsageError(error.what() + tape.labels_of(values));
  }
}

}  // namespace dynet_like::detail
