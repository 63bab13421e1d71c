// Uses objects that have nothing in them: made by default, or moved from.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <set>
#include <typeinfo>

#include "tests/support/attempt.h"

namespace dynet_like {

/// The name of a class without its namespaces and arguments.
template <class T>
std::string name_of_class() {
  const std::unique_ptr<char, decltype(&std::free)> whole(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, nullptr), &std::free);
  std::string name = whole.get();
  name = name.substr(0, name.find('<'));
  return name.substr(name.rfind(':') + 1);
}

/// The public classes that were used.
class Types {
 public:
  const std::set<std::string>& names() const { return names_; }

  /// A class whose objects may be made by default or moved: they are used as they are then.
  template <class T, class Use>
  void use(T object, const Use& use_it) {
    const std::string name = name_of_class<T>();
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
  void use_where_it_is(const Use& use_it) {
    static_assert(!std::is_move_constructible_v<T>);
    const std::string name = name_of_class<T>();
    SCOPED_TRACE(name);
    names_.insert(name);
    T made;
    use_it(made);
  }
  /// Classes whose objects are made of something, and stay where they are.
  template <class... T>
  void stay() {
    static_assert(((!std::is_default_constructible_v<T> && !std::is_move_constructible_v<T>)&&...));
    (names_.insert(name_of_class<T>()), ...);
  }

 private:
  std::set<std::string> names_;
};

// By what they are for. Structs of numbers, texts and lists need no entry: they are what they hold.
void use_graphs(Types& types);
void use_parameters(Types& types);
void use_decoding(Types& types);
void use_structured(Types& types);
void use_data(Types& types);
void use_pipelines(Types& types);
void use_training(Types& types);

}  // namespace dynet_like
