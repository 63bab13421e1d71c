// The options of an example: one table defines the command line, its help, and the settings in a
// checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "dynet_like/core/option_number.h"
#include "nn/train.h"

namespace dynet_like::examples {

/// The default of an option: empty if there is none, kNever if the option is not allowed.
using Default = std::optional<std::string>;
constexpr std::nullopt_t kNever = std::nullopt;

struct Option {
  /// How a model's files store it: as a setting that must not change when a run is resumed, as a
  /// value that may change, or not at all.
  enum class Saved { setting, remembered, no };

  std::string name;
  /// "N" is a whole number, "X" a number, "" a flag, "a|b" one of these words, anything else a
  /// text.
  std::string kind;
  Default usual, special;  ///< in the usual case, and in the special case
  std::string text;
  detail::NumberRange range = {};
  Saved saved = Saved::setting;
  bool for_apply = false;  ///< whether it may be given with --apply
};

/// Options in the order of the help. Where only one default is given, it is that of both cases.
struct OptionTable {
  std::vector<Option> rows = {};

  Option& add(Option option) { return rows.emplace_back(std::move(option)); }
  Option& whole(const char* name, detail::NumberRange range, Default usual, Default special,
                const char* text) {
    return add({name, "N", usual, special, text, range});
  }
  Option& whole(const char* name, detail::NumberRange range, Default both, const char* text) {
    return whole(name, range, both, both, text);
  }
  Option& real(const char* name, detail::NumberRange range, Default usual, Default special,
               const char* text) {
    return add({name, "X", usual, special, text, range});
  }
  Option& real(const char* name, detail::NumberRange range, Default both, const char* text) {
    return real(name, range, both, both, text);
  }
  Option& word(const char* name, const char* kind, const char* both, const char* text) {
    return add({name, kind, both, both, text});
  }
  Option& flag(const char* name, const char* text) { return add({name, "", "", "", text}); }
  /// A file of data: a run may be resumed with its copy elsewhere.
  Option& file(const char* name, const char* text) {
    return add({name, "FILE", "", "", text, {}, Option::Saved::remembered});
  }
  /// --train, --dev and --test.
  void files(const char* samples);
};

class Options;

/// An example, as the command line sees it.
struct Program {
  std::string name, usage;
  void (*add_options)(OptionTable& table);
  /// The usual and the special defaults of options that all examples have. Without defaults for
  /// "decay" there is no such option: the program has a schedule of its own, which ends with the
  /// last epoch, so that a run can only be resumed with the same number of epochs.
  struct Defaults {
    struct Pair {
      std::string usual, special;
    } epochs, batch_size, learning_rate, decay = {};
  } defaults;
  /// When the special defaults hold, for people and for the program.
  std::string special_case = "with --train";
  std::function<bool(const Options&)> is_special = {};  ///< by default as special_case says
};

/// The values of a command line.
class Options {
 public:
  /// Values that are not given come from the checkpoint, with --resume, or from the table. --device
  /// becomes the default device. With --help everything else is ignored. Throws UsageError for
  /// options that are not in the table, out of range or do not go together, FileError for a
  /// checkpoint that is missing or of another example, and DeviceError. `ranks`: the processes that
  /// mpirun has started, if it has. Then the default of --shards is 8, and that of --threads the
  /// processors of each.
  Options(Program program, int argc, char** argv, std::shared_ptr<Communicator> ranks = nullptr);

  std::string help() const;
  /// Whether an option was given, here or in the run that is resumed.
  bool has(const std::string& name) const { return given_.contains(name); }
  /// The value or default. A text without a default is empty.
  std::string text(const std::string& name) const;
  unsigned whole(const std::string& name) const;
  float real(const std::string& name) const;
  std::uint64_t seed() const;

  /// Whether the special case holds. For a saved model, as it was in training.
  bool is_special() const { return is_special_; }

  /// The best model in the folder; from now on the values are its settings. Throws FileError unless
  /// this example has trained it.
  nn::SavedModel load_model();
  /// The options for a training run. Its settings are these options and the contents of the files
  /// that they name. Without --decay it has no schedule. Throws FileError. `unit` and `score_name`
  /// are printed.
  nn::TrainingOptions training(const std::string& unit, const std::string& score_name) const;
  /// For inference. TrainingOptions::graph is for training.
  GraphOptions graph() const;
  /// The processes that train together: only this one, unless mpirun has started several.
  Communicator& ranks() const { return *ranks_; }

  using Names = const std::vector<std::string>&;
  // These check options of the command line only; all throw UsageError.

  /// With this option, only the others are allowed.
  void need_only(const char* option, Names others) const;
  /// With this option, none of the others is allowed.
  void need_none(const char* option, Names others) const;
  /// All or none of these options must be given; they may come from the checkpoint.
  void need_all_or_none(Names options) const;

 private:
  void read_command_line(int argc, char** argv);
  void take_over(const Metadata& saved, const std::string& file, const char* kind);
  void fill_in();
  Metadata all(Option::Saved saved) const;

  Program program_;
  std::shared_ptr<Communicator> ranks_;
  OptionTable table_;
  bool is_special_ = false;
  std::set<std::string> typed_, given_;        ///< on the command line; there or in the checkpoint
  std::map<std::string, std::string> values_;  ///< given values and defaults; "yes" for flags
  std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
};

}  // namespace dynet_like::examples
