// Uses objects that have nothing in them: made by default, or moved from.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like {

/// Does something with an object that may have nothing in it: that gives the answer of an empty
/// object, or the object is refused by an exception of the library that says what it needs.
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

/// The public classes that were used.
class Types {
 public:
  const std::set<std::string>& names() const { return names_; }

  /// A class whose objects may be made by default or moved: they are used as they are then.
  template <class T, class Use>
  void use(const char* name, T object, const Use& use_it) {
    SCOPED_TRACE(name);
    names_.insert(name);
    if constexpr (std::is_default_constructible_v<T>) {
      T made;
      use_it(made);
    }
    T taken = std::move(object);
    use_it(object);
    use_it(taken);
    if constexpr (std::is_move_assignable_v<T>) {
      object = std::move(taken);
      use_it(object);
      use_it(taken);
    }
  }
  /// The same for one that is made by default and stays where it is.
  template <class T, class Use>
  void use_where_it_is(const char* name, const Use& use_it) {
    static_assert(!std::is_move_constructible_v<T>);
    SCOPED_TRACE(name);
    names_.insert(name);
    T made;
    use_it(made);
  }
  /// A class of members that anyone may set, without functions that could read what is not there.
  template <class T>
  void data(const char* name) {
    static_assert(std::is_aggregate_v<T> || std::is_empty_v<T>);
    if constexpr (std::is_default_constructible_v<T>) {
      use(name, T(), [](const T&) {});
    } else {
      names_.insert(name);
    }
  }
  /// A class whose objects are made of something, and stay where they are.
  template <class T>
  void stays(const char* name) {
    static_assert(!std::is_default_constructible_v<T> && !std::is_move_constructible_v<T>);
    names_.insert(name);
  }

 private:
  std::set<std::string> names_;
};

// By what they are for.
void use_graphs(Types& types);
void use_parameters(Types& types);
void use_pipelines(Types& types);
void use_files(Types& types);
void use_layers(Types& types);
void use_decoding(Types& types);
void use_structured(Types& types);
void use_data(Types& types);
void use_training(Types& types);

}  // namespace dynet_like
