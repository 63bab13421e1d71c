// Memory that graphs leave for those that come after them.
#pragma once

namespace dynet::detail {

/// Frees it, and ends its threads.
void forget_spare_memory();

}  // namespace dynet::detail
