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
#include "tests/support/training_program.h"

namespace dynet_like::nn::training_program {
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
  all.push_back({"stale", [](auto& options) { options.ranks.relaxation = {.staleness = 3}; }});
  all.push_back({"backup", [](auto& options) { options.ranks.relaxation = {.backup_ranks = 1}; }});
  for (const Setting& setting : all) {
    if (setting.name == name) return setting;
  }
  throw std::runtime_error("there is no setting " + name);
}

void run(const std::vector<std::string>& arguments, const Ranks& ranks) {
  const bool resume = arguments.size() > 2 && arguments[2] == "resume";
  const std::size_t at = resume ? 3 : 2;
  Fault fault;
  if (arguments.size() > at + 2) {
    fault = {arguments[at], static_cast<unsigned>(std::stoul(arguments[at + 1])),
             std::stoull(arguments[at + 2])};
  }
  const bool is_at_fault = !fault.what.empty() && ranks->rank() == fault.rank;
  const Setting setting = setting_of(arguments.at(0)).with([&](TrainingOptions& options) {
    options.stopping.watch_interrupts = true;  // Open MPI sends SIGTERM to all where one is gone
    if (is_at_fault && fault.what == "other") options.files.settings["hidden"] = "9";
  });
  Program program(setting, arguments.at(1), resume, ranks);
  program.train({}, [&](TrainingRun& run, int) {
    if (is_at_fault && run.progress().updates == fault.update) suffer(fault);
  });
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
}  // namespace dynet_like::nn::training_program

// Open MPI's plug-ins keep memory and are unloaded, so that nothing says whose it is: leaks of ours
// are found where ranks are threads.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int argc, char** argv) {
  return dynet_like::nn::training_program::run_all({argv + 1, argv + argc});
}
