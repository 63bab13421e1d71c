// Exit statuses, messages and Boost.Program_options.
#include "bench/support/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <system_error>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/device.h"

namespace dynet_like::bench {

namespace po = boost::program_options;

int run_program(const char* name, const std::function<void()>& run) {
  int status = 1;
  try {  // fmt::print would throw if standard error cannot be written
    run();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    const std::string reason = std::generic_category().message(errno);
    throw FileError("standard output", fmt::format("need to write it; got: {}", reason));
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    status = 2;
  } catch (const po::error& error) {
    std::fprintf(stderr, "%s: %s; see --help\n", name, error.what());
    status = 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
  }
  return status;
}

namespace {

// The environment variable makes it the default device of everything in the program.
void use_device(const std::string& name) {
  const std::shared_ptr<Device> device = open_device(name);  // throws if it is not there
  ::setenv("DYNET_LIKE_DEVICE", device->name().c_str(), 1);
  if (default_device() == device) return;
  throw UsageError(fmt::format("need --device before the default device is in use; got {} and {}",
                               device->name(), default_device()->name()));
}

}  // namespace

void Options::add(const std::string& name, const std::string& value, const std::string& help,
                  const std::function<void(const std::string&)>& set) {
  auto* const semantic = po::value<std::string>()->notifier(set);
  if (!value.empty()) semantic->default_value(value);
  described_.add_options()(name.c_str(), semantic, help.c_str());
}

Options& Options::flag(const std::string& name, bool& value, const std::string& help) {
  described_.add_options()(name.c_str(), po::bool_switch(&value), help.c_str());
  return *this;
}

Options& Options::argument(std::string& value) {
  argument_ = &value;
  return *this;
}

bool Options::read(int argc, char** argv) {
  described_.add_options()("help,h", "show this help")(
      "device", po::value<std::string>()->value_name("NAME"),
      "where to compute: cpu, cuda (the first GPU), cuda:1, or cuda-host, which runs GPU kernels "
      "on the CPU ($DYNET_LIKE_DEVICE, or cpu)");
  using Style = po::command_line_style::style_t;
  const auto style = static_cast<Style>(po::command_line_style::unix_style &
                                        ~po::command_line_style::allow_guessing);
  po::options_description all;
  all.add(described_);
  po::positional_options_description positions;
  if (argument_ != nullptr) {
    positions.add("argument", 1);
    all.add_options()("argument", po::value(argument_));
  }
  po::variables_map values;
  po::store(
      po::command_line_parser(argc, argv).options(all).positional(positions).style(style).run(),
      values);
  if (values.contains("help")) {
    std::cout << described_;
    return false;
  }
  po::notify(values);
  if (values.contains("device")) use_device(values["device"].as<std::string>());
  return true;
}

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::vector<double> seconds_by_turns(const std::vector<std::function<void()>>& runs,
                                     double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::vector<double>> times(runs.size());
  for (int round = 0; round < 3 || Clock::now() < end; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double begin = processor_seconds();
      runs[i]();
      times[i].push_back(processor_seconds() - begin);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& of_run : times) medians.push_back(median(of_run));
  return medians;
}

}  // namespace dynet_like::bench
