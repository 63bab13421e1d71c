// What the examples' programs do alike from beginning to end: exit statuses and messages.
#pragma once

#include <functional>
#include <string>

namespace dynet_like::examples {

/// Runs an example and returns its exit status. An exception becomes a line "NAME: what" on
/// standard error and status 1, or 2 for a UsageError.
int run_program(const char* name, const std::function<int()>& run);

/// Says how to go on after Ctrl-C, and returns the exit status of programs that it ended.
int stopped(const std::string& resume_command);

}  // namespace dynet_like::examples
