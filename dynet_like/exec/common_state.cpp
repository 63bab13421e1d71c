// Checks whether parameters have changed since a run read them.
#include "dynet_like/exec/common_state.h"

#include <algorithm>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

bool ReadParameters::may_have_changed(bool look_at_memory) const {
  return std::ranges::any_of(all_, [&](const ReadParameter& read) {
    return read.may_have_changed() || (look_at_memory && read.has_changed());
  });
}

void ReadParameters::check(const char* user) {
  for (ReadParameter& read : all_) {
    if (!read.has_changed()) continue;
    // A write in place does not change the version: remember it in this way.
    read.seen.version = ~read.parameter->values.version();
    throw StateError(std::string("[") + user + "] need parameters as they were in forward; got " +
                     read.parameter->name + ", which has changed since: call forward again");
  }
}

}  // namespace dynet_like::detail
