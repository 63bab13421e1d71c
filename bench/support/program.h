// What benchmark programs do alike: command lines, exit statuses, messages and output that is
// checked.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <string>

namespace dynet_like::bench {

/// Runs a program and returns its exit status. An exception becomes a line "NAME: what" on standard
/// error and status 1, or 2 for a command line that makes no sense; so does output that could not
/// be written.
int run_program(const char* name, const std::function<void()>& run);

/// Reads a command line into the variables of `options`, to which it adds --help and --device: that
/// device becomes default_device(), which nobody must have asked for before. Of what is no
/// option, it takes as much as `positions` names. False if it has printed the help, and nothing is
/// left to do. Throws boost::program_options::error, and DeviceError for a device that is not
/// there.
bool read_command_line(
    int argc, char** argv, boost::program_options::options_description& options,
    boost::program_options::variables_map& values,
    const boost::program_options::positional_options_description& positions = {});

/// Throws UsageError unless the number is in the range.
void check_range(const char* option, double number, double low, double high);

}  // namespace dynet_like::bench
