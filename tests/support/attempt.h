// Does something with an object that may have nothing in it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like {

/// Runs f: that gives the answer of an empty object, or the object is refused by an exception of
/// the library that says what it needs.
template <class F>
void attempt(const F& f) {
  const auto check = [](const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("need"), std::string::npos) << error.what();
  };
  try {
    f();
  } catch (const UsageError& error) {
    check(error);
  } catch (const StateError& error) {
    check(error);
  } catch (const ShapeError& error) {
    check(error);
  }
}

#define ATTEMPT(...) attempt([&] { static_cast<void>(__VA_ARGS__); })

}  // namespace dynet_like
