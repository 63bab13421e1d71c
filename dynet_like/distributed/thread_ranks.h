// Ranks that are threads of one process: for tests, and to try out a program.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "dynet_like/distributed/communicator.h"

namespace dynet_like {

/// Communicators for `count` threads, one each. If one is destroyed while others wait for it, they
/// get a RankError. Throws UsageError for 0.
std::vector<std::shared_ptr<Communicator>> thread_ranks(
    unsigned count, std::chrono::milliseconds time_limit = std::chrono::minutes(10));

}  // namespace dynet_like
