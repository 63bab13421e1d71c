// What the examples' programs do alike from beginning to end: exit statuses and messages.
#pragma once

#include <functional>
#include <string>

namespace dynet_like::examples {

/// Runs an example and returns its exit status. An exception becomes a line "NAME: what" on
/// standard error and status 1, or 2 for a UsageError; so does output that could not be written
/// and input that could not be read.
int run_program(const char* name, const std::function<int()>& run);

/// Throws FileError unless all that was printed so far has been written: who prints for hours
/// should not learn at the end that the disk is full.
void flush_output();
/// Throws the FileError, with the system's reason.
[[noreturn]] void fail_output();

/// Says how to go on after Ctrl-C, and returns the exit status of programs that it ended.
int stopped(const std::string& resume_command);

}  // namespace dynet_like::examples
