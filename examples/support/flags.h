// Command lines of examples in one file: "--NAME VALUE", or "--NAME" alone.
#pragma once

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like::examples {

/// A name such as "--epochs", what its value is, such as "N", or nothing, and a line for the help.
struct Flag {
  std::string name, value, text;
};

class Flags {
 public:
  /// Throws UsageError for what is not in the table, unless help is asked for, and for a value that
  /// is missing.
  Flags(int argc, char** argv, std::vector<Flag> table) : table_(std::move(table)) {
    table_.push_back({"--help", "", "show this"});
    for (int i = 1; i < argc; ++i) read(argc, argv, i);
    if (!unknown_.empty() && !has("--help"))
      throw UsageError("need options that --help lists; got " + quoted_text(unknown_));
  }

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Empty where it is not given.
  std::string text(const std::string& name) const { return has(name) ? values_.at(name) : ""; }
  /// A whole number in this range. Throws UsageError for anything else.
  unsigned whole(const std::string& name, unsigned standard, unsigned least, unsigned most) const {
    if (!has(name)) return standard;
    unsigned number = 0;
    const std::string& text = values_.at(name);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && *end == 0 && number >= least && number <= most) return number;
    throw UsageError("need a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + " for " + name + "; got " + quoted_text(text));
  }

  std::string help() const {
    std::string result;
    for (const auto& [name, value, text] : table_) {
      std::string line = "  " + name + ' ' + value;
      line.resize(std::max<std::size_t>(line.size() + 2, 20), ' ');
      result += line + text + '\n';
    }
    return result;
  }

 private:
  void read(int argc, char** argv, int& i) {
    for (const Flag& flag : table_) {
      if (flag.name != argv[i]) continue;
      if (!flag.value.empty() && i + 1 == argc)
        throw UsageError("need a value for " + flag.name + "; got none");
      values_[flag.name] = flag.value.empty() ? "" : argv[++i];
      return;
    }
    if (unknown_.empty()) unknown_ = argv[i];
  }

  std::vector<Flag> table_;
  std::map<std::string, std::string> values_;
  std::string unknown_;
};

}  // namespace dynet_like::examples
