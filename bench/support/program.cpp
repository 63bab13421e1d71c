// Exit statuses, messages and Boost.Program_options.
#include "bench/support/program.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
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

bool read_command_line(int argc, char** argv, po::options_description& options,
                       po::variables_map& values,
                       const po::positional_options_description& positions) {
  options.add_options()("help,h", "show this help")(
      "device", po::value<std::string>()->value_name("NAME"),
      "where to compute: cpu, cuda (the first GPU), "
      "cuda:1, or cuda-host, which runs GPU kernels on "
      "the CPU ($DYNET_LIKE_DEVICE, or cpu)");
  using Style = po::command_line_style::style_t;
  const auto style = static_cast<Style>(po::command_line_style::unix_style &
                                        ~po::command_line_style::allow_guessing);
  po::options_description all;
  all.add(options);
  for (unsigned i = 0; i < positions.max_total_count(); ++i) {
    all.add_options()(positions.name_for_position(i).c_str(), po::value<std::string>());
  }
  po::store(
      po::command_line_parser(argc, argv).options(all).positional(positions).style(style).run(),
      values);
  if (values.contains("help")) {
    std::cout << options;
    return false;
  }
  po::notify(values);
  if (values.contains("device")) use_device(values["device"].as<std::string>());
  return true;
}

void check_range(const char* option, double number, double low, double high) {
  if (number >= low && number <= high) return;
  throw UsageError(
      fmt::format("need a number from {} to {} for --{}; got {}", low, high, option, number));
}

}  // namespace dynet_like::bench
