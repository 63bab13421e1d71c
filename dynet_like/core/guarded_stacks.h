// Memory for stacks, each behind a page that nothing may touch.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>

namespace dynet_like::detail {

/// Allocates stacks for Boost.Context.
struct GuardedStacks {
  std::size_t bytes;  ///< of each, rounded up to pages

  /// Throws std::bad_alloc if the system has no room for one, with its guard page.
  boost::context::stack_context allocate() const;
  void deallocate(boost::context::stack_context& stack) const;
};

}  // namespace dynet_like::detail
