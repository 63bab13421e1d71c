// What command lines of examples have in common: options with defaults, numbers in a range.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/program_options.hpp>
#include <fmt/core.h>

namespace dynet_like::examples {

/// Options under one title, as the help shows them. All values are read as text: see ValueReader.
template <class Options>
class OptionGroup {
 public:
  /// The defaults, and those under a condition such as "with --data".
  OptionGroup(const char* title, Options standard, const char* condition, Options conditional)
      : group_(title),
        condition_(condition),
        standard_(std::move(standard)),
        conditional_(std::move(conditional)) {}

  /// An option with a value, whose kind is `value`, such as "FOLDER".
  OptionGroup& add(const char* name, const char* kind, const std::string& text) {
    using boost::program_options::value;
    group_.add_options()(name, value<std::string>()->value_name(kind), text.c_str());
    return *this;
  }
  /// One that has a default: both are shown where they differ.
  template <class Value, class Owner>
  OptionGroup& add(const char* name, const char* kind, const char* text, Value Owner::*member) {
    const Value &usual = standard_.*member, &other = conditional_.*member;
    if (usual == other) return add(name, kind, fmt::format("{} ({})", text, usual));
    return add(name, kind, fmt::format("{} ({}; {} {})", text, usual, other, condition_));
  }
  OptionGroup& add_flag(const char* name, const char* text) {
    group_.add_options()(name, text);
    return *this;
  }

  operator const boost::program_options::options_description&() const { return group_; }

 private:
  boost::program_options::options_description group_;
  const char* condition_;
  Options standard_, conditional_;
};

/// Values by the names of their options; flags have an empty one.
using OptionValues = std::map<std::string, std::string>;

/// The option --device, which all programs have.
boost::program_options::options_description device_options();

/// Without guessing of shortened names, and without arguments that belong to no option. With
/// --device, that device becomes default_device(), which nobody must have asked for before. Throws
/// UsageError for a command line that does not have these options or those of device_options(), and
/// DeviceError for a device that is not there.
OptionValues read_command_line(int argc, char** argv,
                               const boost::program_options::options_description& options);

/// The same command line with --resume, as one would type it in a shell.
std::string resume_command(int argc, char** argv);

/// The number of processors, at most `most`.
unsigned default_threads(unsigned most);

/// The way back from settings "--NAME" in a model's metadata; flags are "yes" or "no" there.
OptionValues flags_of(const std::map<std::string, std::string>& settings);

/// Takes values over defaults if they are there. Throws UsageError for those that make no sense,
/// or FileError if they are from a file.
class ValueReader {
 public:
  /// `values` must live on.
  ValueReader(const OptionValues& values, std::string file = "")
      : values_(values), file_(std::move(file)) {}

  bool has(const char* name) const { return values_.contains(name); }

  using Names = std::initializer_list<const char*>;
  /// With this option, none but the others makes sense.
  void need_only(const char* option, Names others) const;
  /// With this option, none of the others makes sense.
  void need_none(const char* option, Names others) const;
  /// Without `other`, this option makes no sense.
  void need_with(const char* option, const char* other) const;

  template <class Number>
  void read(const char* name, Number& number, double low, double high) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    constexpr bool kIsWhole = std::is_integral_v<Number>;
    double value = 0;
    if (!parse(found->second, value) || !(value >= low && value <= high) ||
        (kIsWhole && value != static_cast<double>(static_cast<Number>(value)))) {
      throw_no_number(name, kIsWhole, low, high);
    }
    number = static_cast<Number>(value);
  }
  /// A path, or other text that must not be empty.
  void read(const char* name, std::string& text) const;
  /// One of several words.
  void read(const char* name, std::string& text, Names choices) const;
  void read(const char* name, bool& flag) const { flag = has(name); }

 private:
  static bool parse(const std::string& text, double& value);
  [[noreturn]] void throw_no_number(const char* name, bool is_whole, double low, double high) const;
  [[noreturn]] void fail(const std::string& what) const;

  const OptionValues& values_;
  std::string file_;
};

}  // namespace dynet_like::examples
