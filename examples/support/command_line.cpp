// Reading the command line with Boost.Program_options.
#include "examples/support/command_line.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/device/device.h"

namespace dynet_like::examples {

namespace {

namespace po = boost::program_options;

/// An argument as a shell reads it.
std::string quoted(const std::string& argument) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain)) {
    return argument;
  }
  std::string result = "'";
  for (const char c : argument) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The environment names it, so that whatever the program makes lives there.
void use_device(const std::string& name) {
  const std::shared_ptr<Device> device = open_device(name);  // throws if it is not there
  ::setenv("DYNET_LIKE_DEVICE", device->name().c_str(), 1);
  if (default_device() == device) return;
  throw UsageError(fmt::format("need --device before the default device is in use; got {} and {}",
                               device->name(), default_device()->name()));
}

}  // namespace

po::options_description device_options() {
  po::options_description options("Device");
  options.add_options()("device", po::value<std::string>()->value_name("NAME"),
                        "where to compute: cpu, cuda (the first GPU), cuda:1, or cuda-host, which "
                        "runs the kernels for GPUs on the CPU ($DYNET_LIKE_DEVICE, or cpu)");
  return options;
}

OptionValues read_command_line(int argc, char** argv, const po::options_description& options) {
  po::variables_map found;
  try {
    using Style = po::command_line_style::style_t;
    const auto style = static_cast<Style>(Style::unix_style & ~Style::allow_guessing);
    po::store(
        po::command_line_parser(argc, argv).options(options).positional({}).style(style).run(),
        found);
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
  OptionValues values;
  for (const auto& [name, value] : found) {
    const auto* text = boost::any_cast<std::string>(&value.value());
    values[name] = text != nullptr ? *text : "";
  }
  const auto device = values.find("device");
  if (device != values.end() && !values.contains("help")) use_device(device->second);
  return values;
}

std::string resume_command(int argc, char** argv) {
  std::string command;
  bool resumes = false;
  for (int i = 0; i < argc; ++i) {
    command += (i > 0 ? " " : "") + quoted(argv[i]);
    resumes |= std::string_view(argv[i]) == "--resume";
  }
  return resumes ? command : command + " --resume";
}

unsigned default_threads(unsigned most) {
  return std::clamp(std::thread::hardware_concurrency(), 1u, most);
}

OptionValues flags_of(const std::map<std::string, std::string>& settings) {
  OptionValues values;
  for (const auto& [name, value] : settings) {
    if (name.starts_with("--") && value != "no")
      values[name.substr(2)] = value == "yes" ? "" : value;
  }
  return values;
}

void ValueReader::need_only(const char* option, Names others) const {
  if (!has(option)) return;
  for (const auto& [name, value] : values_) {
    if (name == option || std::find(others.begin(), others.end(), name) != others.end()) continue;
    fail(fmt::format("need --{} with no options but --{}; got --{}", option,
                     fmt::join(others, ", --"), name));
  }
}

void ValueReader::need_none(const char* option, Names others) const {
  for (const char* other : others) {
    if (has(option) && has(other)) fail(fmt::format("need --{} or --{}; got both", option, other));
  }
}

void ValueReader::need_with(const char* option, const char* other) const {
  if (has(option) && !has(other)) fail(fmt::format("need --{} with --{}; got none", other, option));
}

void ValueReader::read(const char* name, std::string& text) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return;
  text = found->second;
  if (text.empty()) fail(fmt::format("need a value for --{}; got nothing", name));
}

void ValueReader::read(const char* name, std::string& text, Names choices) const {
  read(name, text);
  if (!has(name) || std::find(choices.begin(), choices.end(), text) != choices.end()) return;
  fail(
      fmt::format("need {} for --{}; got {}", fmt::join(choices, " or "), name, quoted_text(text)));
}

void ValueReader::fail(const std::string& what) const {
  if (file_.empty()) throw UsageError(what);
  throw FileError(file_, what);
}

bool ValueReader::parse(const std::string& text, double& value) {
  std::istringstream in(text);
  return (in >> value) && in.peek() == std::istringstream::traits_type::eof();
}

void ValueReader::throw_no_number(const char* name, bool is_whole, double low, double high) const {
  fail(fmt::format("need a {} from {} to {} for --{}; got {}", is_whole ? "whole number" : "number",
                   low, high, name, quoted_text(values_.at(name))));
}

}  // namespace dynet_like::examples
