// Exit statuses and messages.
#include "examples/support/program.h"

#include <cstdio>
#include <exception>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

int run_program(const char* name, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 1;
  }
}

int stopped(const std::string& resume_command) {
  constexpr int kInterrupted = 130;
  fmt::print("Stopped and saved. To go on:\n  {}\n", resume_command);
  return kInterrupted;
}

}  // namespace dynet_like::examples
