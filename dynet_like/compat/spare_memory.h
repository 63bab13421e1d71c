// Memory of destroyed graphs, for later ones.
#pragma once

namespace dynet::detail {

/// Frees the memory, and ends its threads.
void forget_spare_memory();

}  // namespace dynet::detail
