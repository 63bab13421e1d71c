// The small program of the tests as processes of MPI, with a fault if one is asked for:
//   ranks_program SETTING FOLDER [resume] [FAULT RANK UPDATE]
// FAULT is what RANK does after UPDATE updates: "die", "hang" or "throw"; or "other", other
// settings.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

#include "dynet_like/distributed/mpi_ranks.h"
#include "tests/distributed/program.h"
#include "tests/distributed/settings.h"

namespace dynet_like::nn::ranks_program {
namespace {

struct Fault {
  std::string what;
  unsigned rank = 0;
  std::uint64_t update = 0;
};

void suffer(const Fault& fault) {
  if (fault.what == "die") std::raise(SIGKILL);
  while (fault.what == "hang") ::sleep(1);
  if (fault.what == "throw") throw std::runtime_error("no more power");
}

/// Also those whose bits are not the same every time.
Setting setting_of(const std::string& name) {
  std::vector<Setting> all = settings();
  all.push_back({"stale", [](TrainingOptions& options) { options.relaxation = {.staleness = 3}; }});
  all.push_back(
      {"backup", [](TrainingOptions& options) { options.relaxation = {.backup_ranks = 1}; }});
  for (const Setting& setting : all) {
    if (setting.name == name) return setting;
  }
  throw std::runtime_error("there is no setting " + name);
}

void run(const std::vector<std::string>& arguments, const std::shared_ptr<Communicator>& ranks) {
  Setting setting = setting_of(arguments.at(0));
  // Open MPI sends SIGTERM to all where one is gone.
  const auto options = setting.options;
  setting.options = [options](TrainingOptions& all) {
    options(all);
    all.watch_interrupts = true;
  };
  const bool resume = arguments.size() > 2 && arguments[2] == "resume";
  const std::size_t at = resume ? 3 : 2;
  Fault fault;
  if (arguments.size() > at + 2) {
    fault = {arguments[at], static_cast<unsigned>(std::stoul(arguments[at + 1])),
             std::stoull(arguments[at + 2])};
  }
  const bool is_at_fault = !fault.what.empty() && ranks->rank() == fault.rank;
  if (is_at_fault && fault.what == "other") {
    setting.options = [](TrainingOptions& all) { all.settings["hidden"] = "9"; };
  }
  Program program(setting, ranks, arguments.at(1), resume);
  program.after_update = [&](TrainingRun&, std::uint64_t updates) {
    if (is_at_fault && updates == fault.update) suffer(fault);
  };
  program.train();
  const std::vector<float> values = program.values();
  const auto all = gather_texts(
      *ranks, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  for (const std::string& others : all) {
    if (others != all[0]) throw std::runtime_error("ranks have different parameters");
  }
  if (ranks->rank() == 0) {
    std::printf("%llu updates\n", static_cast<unsigned long long>(program.run->progress().updates));
  }
}

int run_all(const std::vector<std::string>& arguments) {
  const std::shared_ptr<Communicator> ranks = mpi_ranks();
  try {
    run(arguments, ranks);
    return 0;
  } catch (const std::exception& error) {
    ranks->fail(error.what());
    return 1;
  }
}

}  // namespace
}  // namespace dynet_like::nn::ranks_program

// Open MPI's plug-ins keep memory and are unloaded, so that nothing says whose it is: leaks of ours
// are found where ranks are threads.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int argc, char** argv) {
  return dynet_like::nn::ranks_program::run_all({argv + 1, argv + argc});
}
