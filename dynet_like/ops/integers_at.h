// Integers that the user may change after a node was recorded.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace dynet_like {

/// A pointer that converts to a pointer to constant T. A literal 0 does not count.
template <class P, class T>
concept PointerTo = std::is_pointer_v<P> && std::convertible_to<P, const T*>;

/// One integer, several, or lists of equal length, in memory of the user. They are read when the
/// graph runs and must live until then. Their number is fixed when the node is recorded.
class IntegersAt {
 public:
  using List = std::vector<std::uint32_t>;

  IntegersAt() = default;
  template <PointerTo<std::uint32_t> P>
  IntegersAt(P one) : one_(one) {}
  template <PointerTo<List> P>
  IntegersAt(P list) : list_(list) {}
  template <PointerTo<std::vector<List>> P>
  IntegersAt(P lists) : lists_(lists) {}

  bool given() const { return one_ != nullptr || list_ != nullptr || lists_ != nullptr; }
  bool is_one() const { return one_ != nullptr; }
  /// The integers at this moment, list after list. Throws UsageError if lists differ in length.
  List now() const;
  std::size_t size() const { return now().size(); }

 private:
  const std::uint32_t* one_ = nullptr;
  const List* list_ = nullptr;
  const std::vector<List>* lists_ = nullptr;
};

}  // namespace dynet_like
