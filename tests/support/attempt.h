// Does something with an object that may have nothing in it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like {

/// Runs f: that gives the answer of an empty object, or the object is refused by an exception of
/// the library that says what it needs.
template <class F>
void attempt(const char* call, const F& f) {
  SCOPED_TRACE(call);
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

// ATTEMPT(a, b, c) attempts each of up to 30 expressions, one after the other: a macro may not call
// itself, so the second of these names is replaced in another round.
#define ATTEMPT(...) ATTEMPT_16(ATTEMPT_16(ATTEMPT_FIRST(__VA_ARGS__)))
#define ATTEMPT_FIRST(call, ...)                   \
  attempt(#call, [&] { static_cast<void>(call); }) \
      __VA_OPT__(, ATTEMPT_SECOND ATTEMPT_NOTHING(__VA_ARGS__))
#define ATTEMPT_SECOND() ATTEMPT_FIRST
#define ATTEMPT_NOTHING ()
#define ATTEMPT_16(...) ATTEMPT_4(ATTEMPT_4(ATTEMPT_4(ATTEMPT_4(__VA_ARGS__))))
#define ATTEMPT_4(...) ATTEMPT_1(ATTEMPT_1(ATTEMPT_1(ATTEMPT_1(__VA_ARGS__))))
#define ATTEMPT_1(...) __VA_ARGS__

}  // namespace dynet_like
