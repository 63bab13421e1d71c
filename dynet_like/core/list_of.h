// A parameter that takes several of something, however they are written down.
#pragma once

#include <initializer_list>
#include <span>
#include <type_traits>

namespace dynet_like {

/// Several T for a function to read: in braces, or in a vector, an array or a span. It owns none of
/// them, so it is for parameters only.
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
