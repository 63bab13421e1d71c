// Starting an example as a user would, with files as its standard input and output.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace dynet_like::examples {

/// What a program is started with besides its arguments.
struct Surroundings {
  std::string input = "/dev/null", output = "";  ///< files; no `output`: it is read at the end
  std::map<std::string, std::string> environment = {};  ///< added to this program's
  int signal = 0;                                       ///< sent to it, unless 0,
  std::chrono::microseconds after = {};                 ///< so long after its start
};

/// How a program ended, and what it wrote.
struct Ending {
  int status = -1;  ///< its exit status, or
  int signal = 0;   ///< what killed it
  std::string output, errors;
};

/// Runs a program to its end. SIGINT and SIGTERM have their usual effect on it.
Ending run_process(const std::vector<std::string>& command, const Surroundings& surroundings = {});

/// The whole file; empty if there is none.
std::string text_of(const std::string& path);

}  // namespace dynet_like::examples
