// A parameter type that accepts a list in any common form.
#pragma once

#include <initializer_list>
#include <span>
#include <type_traits>

namespace dynet_like {

/// A list of T that a function reads: braces, a vector, an array or a span. It does not own the
/// elements, so use it for parameters only.
template <class T>
class ListOf {
 public:
  ListOf(std::initializer_list<T> list) : all_(list.begin(), list.size()) {}
  template <class List>
  requires std::is_convertible_v<const List&, std::span<const T>> ListOf(const List& list)
      : all_(list) {}

  operator std::span<const T>() const { return all_; }
  std::size_t size() const { return all_.size(); }
  const T* begin() const { return all_.data(); }
  const T* end() const { return all_.data() + all_.size(); }

 private:
  std::span<const T> all_;
};

}  // namespace dynet_like
