// Walks the stack of the recording thread.
#include "dynet_like/tape/call_stacks.h"

#include <unwind.h>

#include <algorithm>

namespace dynet_like::detail {

namespace {

struct Walk {
  CallStack stack{};
  std::size_t size = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* frame, void* to) {
  Walk& walk = *static_cast<Walk*>(to);
  walk.stack[walk.size++] = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  return walk.size < walk.stack.size() ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

void CallStacks::note(NodeId first) {
  Walk walk;
  _Unwind_Backtrace(add_frame, &walk);
  if (!calls_.empty() && calls_.back().first == first) calls_.pop_back();  // it recorded nothing
  calls_.push_back({first, walk.stack});
}

const CallStack* CallStacks::find(NodeId node) const {
  const auto next = std::ranges::upper_bound(calls_, node, {}, &Call::first);
  return next == calls_.begin() ? nullptr : &(next - 1)->stack;
}

void CallStacks::revert(NodeId node) {
  while (!calls_.empty() && calls_.back().first >= node) calls_.pop_back();
}

}  // namespace dynet_like::detail
