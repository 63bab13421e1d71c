// Common parts of benchmark programs: command lines, exit statuses, messages, checked output, and
// measurements by turns.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/option_number.h"

namespace dynet_like::bench {

/// Runs a program and returns its exit status. An exception is printed as a line "NAME: message" on
/// standard error, and gives status 1, or 2 for an invalid command line. Output that could not be
/// written has the same effect.
int run_program(const char* name, const std::function<void()>& run);

/// The options of a program, whose values are read into variables that have the defaults.
class Options {
 public:
  /// `about`: the text of --help before the options.
  explicit Options(const std::string& about) : described_(about + "\n\nOptions") {}

  /// A number from `low` to `high`, whole if the variable is.
  template <class Number>
  Options& number(const std::string& name, Number& value, double low, double high,
                  const std::string& help) {
    constexpr auto kind =
        std::is_integral_v<Number> ? detail::NumberKind::whole : detail::NumberKind::real;
    add(name, fmt::to_string(value), help, [name, &value, low, high](const std::string& text) {
      value = static_cast<Number>(detail::option_number(name, text, kind, {low, high}));
    });
    return *this;
  }
  /// --seconds, from a millisecond to an hour.
  Options& seconds(double& value, const std::string& help) {
    return number("seconds", value, 0.001, 3600, help);
  }
  Options& text(const std::string& name, std::string& value, const std::string& help) {
    add(name, value, help, [&value](const std::string& text) { value = text; });
    return *this;
  }
  Options& flag(const std::string& name, bool& value, const std::string& help);
  /// An argument without a name, which may be missing.
  Options& argument(std::string& value);

  /// Reads a command line, to whose options --help and --device are added. That device becomes
  /// default_device(), which must not have been used before. Returns false if it has printed the
  /// help, so that nothing is left to do. Throws boost::program_options::error, UsageError for a
  /// number that is not in its range, and DeviceError for a device that is not there.
  bool read(int argc, char** argv);

 private:
  void add(const std::string& name, const std::string& value, const std::string& help,
           const std::function<void(const std::string&)>& set);

  boost::program_options::options_description described_;
  std::string* argument_ = nullptr;
};

/// Processor time of this process.
double processor_seconds();

/// Middle of the numbers; of an even number of them, the smaller one of the two.
double median(std::vector<double> numbers);

/// Calls the functions by turns for so many seconds of the clock, and at least three times each, so
/// that a busy period of the machine affects all. Returns the median of each one's processor time.
std::vector<double> seconds_by_turns(const std::vector<std::function<void()>>& runs,
                                     double seconds);

}  // namespace dynet_like::bench
