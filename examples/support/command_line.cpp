// Reading the command line with Boost.Program_options.
#include "examples/support/command_line.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <thread>

#include "dynet_like/core/errors.h"

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

}  // namespace

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

void ValueReader::read(const char* name, std::string& text) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return;
  text = found->second;
  if (text.empty()) throw UsageError(fmt::format("need a value for --{}; got nothing", name));
}

bool ValueReader::parse(const std::string& text, double& value) {
  std::istringstream in(text);
  return (in >> value) && in.peek() == std::istringstream::traits_type::eof();
}

void ValueReader::throw_no_number(const char* name, bool is_whole, double low, double high) const {
  throw UsageError(fmt::format("need a {} from {} to {} for --{}; got \"{}\"",
                               is_whole ? "whole number" : "number", low, high, name,
                               values_.at(name)));
}

}  // namespace dynet_like::examples
