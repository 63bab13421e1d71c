// Exit statuses, messages and reports.
#include "examples/full/support/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"
#ifdef DYNET_LIKE_HAS_MPI
#include "dynet_like/distributed/mpi_ranks.h"
#endif

namespace dynet_like::examples {

namespace {

constexpr int kInterrupted = 130;

// If a standard stream is closed, a file that is opened later would get its number, and output
// would go into that file. These replacements can be neither read nor written.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = ::fcntl(stream, F_GETFD) == -1;
    if (is_closed) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// All processes that were started together, or null if this one was started alone. Throws
/// UsageError if there are others, but the program was built without MPI.
std::shared_ptr<Communicator> started_ranks() {
#ifdef DYNET_LIKE_HAS_MPI
  return is_started_by_mpi() ? mpi_ranks() : nullptr;
#else
  const char* const count = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (count == nullptr || std::string(count) == "1") return nullptr;
  throw UsageError(
      fmt::format("need a program that was built with MPI (scripts/install_deps.sh --mpi) to train "
                  "in several processes; got {} of them",
                  count));
#endif
}

}  // namespace

int run_program(const std::string& name, const std::function<int()>& run) {
  occupy_closed_streams();
  try {
    const int status = run();
    flush_output();
    // std::cin treats an error as the end.
    if (std::ferror(stdin) != 0) throw FileError(kStandardInput, "need to read it; got an error");
    return status;
  } catch (const std::exception& error) {
    // fmt::print would throw if it cannot be written.
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 1;
  }
}

int run_program(const Program& program, int argc, char** argv,
                const std::function<int(Options&)>& train,
                const std::function<int(Options&)>& apply) {
  std::shared_ptr<Communicator> ranks;
  const int status = run_program(program.name, [&] {
    ranks = started_ranks();
    const bool prints = ranks == nullptr || ranks->rank() == 0;  // others would print the same
    if (!prints && std::freopen("/dev/null", "w", stdout) == nullptr) fail_output();
    Options options(program, argc, argv, ranks);
    if (options.has("help")) {
      std::fputs(options.help().c_str(), stdout);  // fmt::print would throw, not flush_output()
      return 0;
    }
    if (options.has("apply")) {
      const unsigned count = options.ranks().size();
      if (count == 1) return apply(options);
      throw UsageError(fmt::format("need --apply in one process; got {} of them", count));
    }
    if (options.has("report")) detail::AtomicFile check(options.text("report"));  // leaves no file
    if (options.has("timeline")) detail::AtomicFile check(options.text("timeline"));
    return train(options);
  });
  const bool has_failed = status != 0 && status != kInterrupted;
  if (has_failed && ranks != nullptr) ranks->fail(fmt::format("exit status {}", status));
  return status;
}

void begin_training(const Options& options, const ParameterCollection& model,
                    const std::array<std::size_t, 3>& counts) {
  fmt::print("{} samples for training, {} for dev", counts[0], counts[1]);
  if (counts[2] > 0) fmt::print(" and {} for test", counts[2]);
  fmt::print("; {} parameters, {} threads", model.parameter_count(), options.text("threads"));
  const unsigned ranks = options.ranks().size();
  if (ranks > 1) fmt::print(" in each of {} processes", ranks);
  fmt::print("\n");
  flush_output();
}

void average_last_epoch(Trainer& trainer, const nn::TrainingOptions& training,
                        std::size_t samples) {
  const auto updates = static_cast<double>(training.updates(samples) / training.epochs);
  trainer.exponential_moving_average(static_cast<float>(1 - 1 / std::max(updates, 2.0)));
}

int stopped() {
  fmt::print("Stopped and saved. To go on, give the same command with --resume.\n");
  return kInterrupted;
}

void report_test(nlohmann::json& report, double accuracy) {
  fmt::print("test accuracy: {:.2f} %\n", 100 * accuracy);
  report["test_accuracy"] = accuracy;
}

int finish(const Options& options, const nn::TrainingOptions& training,
           const nn::TrainingProgress& progress, nlohmann::json report) {
  const std::string score = training.report.score_text
                                ? training.report.score_text(progress.best_score)
                                : fmt::format("{:.2f} %", 100 * progress.best_score);
  fmt::print("best: epoch {} of {}, dev {} {}; trained for {:.0f} s\n", progress.best_epoch,
             progress.epochs, training.report.score_name, score, progress.seconds);
  report["epochs"] = progress.epochs;
  report["seconds"] = progress.seconds;
  if (options.has("report") && options.ranks().rank() == 0)
    detail::write_atomically(options.text("report"), report.dump(2) + '\n');
  return 0;
}

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_output();
}

void fail_output() {
  const std::string reason = std::generic_category().message(errno);
  throw FileError("standard output", fmt::format("need to write it; got: {}", reason));
}

}  // namespace dynet_like::examples
