// Starts programs by fork and exec.
#include "examples/full/tests/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace dynet_like::examples {

namespace {

/// The new process. It never returns.
[[noreturn]] void start(const std::vector<std::string>& command, const Surroundings& surroundings,
                        const std::string& output, const std::string& errors) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  dup2(open(surroundings.input.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(open(output.c_str(), kNew, 0600), STDOUT_FILENO);
  dup2(open(errors.c_str(), kNew, 0600), STDERR_FILENO);
  // A program that a shell started in the background ignores Ctrl-C, and its children would, too.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  for (const auto& [name, value] : surroundings.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

}  // namespace

Ending run_process(const std::vector<std::string>& command, const Surroundings& surroundings) {
  const std::string name =
      std::filesystem::temp_directory_path() / ("example_process_" + std::to_string(getpid()));
  const std::string output = surroundings.output.empty() ? name + ".output" : surroundings.output;
  const std::string errors = name + ".errors";
  const pid_t process = fork();
  if (process == 0) start(command, surroundings, output, errors);
  if (surroundings.signal != 0) {
    std::this_thread::sleep_for(surroundings.after);
    kill(process, surroundings.signal);
  }
  int status = 0;
  waitpid(process, &status, 0);
  Ending ending;
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  ending.errors = text_of(errors);
  std::filesystem::remove(errors);
  if (surroundings.output.empty()) {
    ending.output = text_of(output);
    std::filesystem::remove(output);
  }
  return ending;
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace dynet_like::examples
