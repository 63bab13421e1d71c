// Exit statuses and messages.
#include "examples/support/program.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::examples {

int run_program(const char* name, const std::function<int()>& run) {
  try {
    const int status = run();
    flush_output();
    // std::cin takes an error for the end.
    if (std::ferror(stdin) != 0) throw FileError("standard input", "need to read it; got an error");
    return status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 1;
  }
}

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_output();
}

void fail_output() {
  const std::string reason = std::generic_category().message(errno);
  throw FileError("standard output", fmt::format("need to write it; got: {}", reason));
}

int stopped(const std::string& resume_command) {
  constexpr int kInterrupted = 130;
  fmt::print("Stopped and saved. To go on:\n  {}\n", resume_command);
  return kInterrupted;
}

}  // namespace dynet_like::examples
