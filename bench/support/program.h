// Common parts of benchmark programs: command lines, exit statuses, messages, and checked output.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <string>

namespace dynet_like::bench {

/// Runs a program and returns its exit status. An exception is printed as a line "NAME: message" on
/// standard error, and gives status 1, or 2 for an invalid command line. Output that could not be
/// written has the same effect.
int run_program(const char* name, const std::function<void()>& run);

/// Reads a command line into the variables of `options`, to which it adds --help and --device. That
/// device becomes default_device(), which must not have been used before. Positional arguments are
/// allowed if `positions` names them. Returns false if it has printed the help, so that nothing is
/// left to do. Throws boost::program_options::error, and DeviceError for a device that is not
/// there.
bool read_command_line(
    int argc, char** argv, boost::program_options::options_description& options,
    boost::program_options::variables_map& values,
    const boost::program_options::positional_options_description& positions = {});

/// Throws UsageError unless the number is in the range.
void check_range(const char* option, double number, double low, double high);

}  // namespace dynet_like::bench
