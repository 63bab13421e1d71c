// Starts an example as a user would, with files as its standard input and output.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace dynet_like::examples {

/// How a program is started, apart from its arguments.
struct Surroundings {
  std::string input = "/dev/null", output = "";         ///< files; without `output`, see Ending
  std::map<std::string, std::string> environment = {};  ///< added to this program's
  int signal = 0;                                       ///< sent to the program, unless 0,
  std::chrono::microseconds after = {};                 ///< so long after its start
};

/// How a program ended, and its output.
struct Ending {
  int status = -1;  ///< its exit status, or
  int signal = 0;   ///< the signal that killed it
  std::string output, errors;
};

/// Runs a program until it ends. SIGINT and SIGTERM have their default effect on it.
Ending run_process(const std::vector<std::string>& command, const Surroundings& surroundings = {});

/// The contents of a file; empty if there is none.
std::string text_of(const std::string& path);

}  // namespace dynet_like::examples
