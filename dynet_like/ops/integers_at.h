// Integers that the user writes after a node was recorded.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace dynet_like {

/// A pointer that can be one to constant T. A literal 0 is none.
template <class P, class T>
concept PointerTo = std::is_pointer_v<P> && std::convertible_to<P, const T*>;

/// One integer, several, or lists of equal length at a place of the user. They are read when the
/// graph runs and must live until then; how many there are is fixed when the node is recorded.
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
  /// What is there now, lists one behind the other. Throws UsageError for lists of unequal length.
  List now() const;
  std::size_t size() const { return now().size(); }

 private:
  const std::uint32_t* one_ = nullptr;
  const List* list_ = nullptr;
  const std::vector<List>* lists_ = nullptr;
};

}  // namespace dynet_like
