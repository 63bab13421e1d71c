// Running a function as several ranks, each in a thread.
#pragma once

#include <exception>
#include <thread>

#include "dynet_like/distributed/thread_ranks.h"
#include "tests/support/precompiled.h"

namespace dynet_like {

/// Runs f(communicator) as so many ranks. Throws what the first of them has thrown, once all have
/// ended; what a rank throws ends the others.
inline void run_ranks(unsigned count,
                      const std::function<void(const std::shared_ptr<Communicator>&)>& f,
                      std::chrono::milliseconds limit = std::chrono::seconds(60)) {
  auto ranks = thread_ranks(count, limit);
  std::vector<std::exception_ptr> failures(count);
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < count; ++r) {
    threads.emplace_back([&, r] {
      try {
        f(ranks[r]);
      } catch (const std::exception& error) {
        failures[r] = std::current_exception();
        ranks[r]->fail(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace dynet_like
