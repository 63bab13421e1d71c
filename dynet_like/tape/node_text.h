// A node in messages.
#pragma once

#include <string>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

/// "tanh, node 5 of sample 2 ("hidden"), of "/linear/b"": labels and names of parameters tell where
/// the node comes from.
std::string text_of(const Tape& tape, std::uint32_t sample, NodeId node);

}  // namespace dynet_like::detail
