// The options of an example, written once: a table that is the command line, its help, the settings
// in a checkpoint, and the way back from there.
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
#include "nn/train.h"

namespace dynet_like::examples {

/// The default of an option; kNever where it makes no sense.
using Default = std::optional<std::string>;
constexpr std::nullopt_t kNever = std::nullopt;

struct Option {
  struct Range {
    double low = 0, high = 0;
  };
  /// Whether a model's files have it: as a setting that must be as it was to go on from a
  /// checkpoint, as something that may change, or not at all.
  enum class Saved { setting, remembered, no };

  std::string name;
  /// "N" is a whole number, "X" a number, "" a flag, "a|b" one of these words; all else is a text,
  /// "FILE" one that is remembered.
  std::string kind;
  /// In the usual case, and in the special one.
  Default usual, special;
  std::string text;
  Range range = {};
  Saved saved = Saved::setting;
  bool for_apply = false;  ///< whether it may be given with --apply
};

class Options;

/// An example, to the command line.
struct Program {
  std::string name, usage;
  /// When other defaults hold, for people and for the program: "with --data".
  std::string special_case;
  std::function<bool(const Options&)> is_special;
  std::vector<Option> options;
  /// The usual and the special defaults of options that all examples have, beside "seed",
  /// "patience", "shards", "threads", "device", "output", "resume", "report", "timeline",
  /// "explain", "apply" and "help". Without defaults of "decay" there is none: the rate follows a
  /// schedule of the program's own, which ends with the last epoch, so that a run goes on with the
  /// same number of epochs only.
  struct Defaults {
    struct Pair {
      std::string usual, special;
    } epochs, batch_size, learning_rate, decay = {};
  } defaults;
};

/// The values of a command line.
class Options {
 public:
  /// What the command line leaves out is taken over from the checkpoint, with --resume, and from
  /// the table. --device becomes the default device. With --help all else is ignored. Throws
  /// UsageError for what is not in the table, out of its range or makes no sense, FileError for a
  /// checkpoint that is missing or of another example, and DeviceError.
  /// `ranks`: the processes that mpirun has started, if it has. Then shards are 8 by default, and
  /// the threads those that each of them may have.
  Options(Program program, int argc, char** argv, std::shared_ptr<Communicator> ranks = nullptr);

  std::string help() const;
  /// Whether an option was given, here or in the run that this one goes on with.
  bool has(const std::string& name) const { return given_.contains(name); }
  /// Values, or their defaults. A text without one is empty.
  std::string text(const std::string& name) const;
  unsigned whole(const std::string& name) const;
  float real(const std::string& name) const;
  std::uint64_t seed() const;

  /// Whether this is the program's special case. A model stays what it was when it was trained.
  bool is_special() const { return is_special_; }

  /// The best model of the folder, whose settings the values are from now on. Throws FileError
  /// unless this example has trained it.
  nn::SavedModel load_model();
  /// What the options say of a training run. Its settings are the options and the contents of the
  /// files that they name. Without --decay it lacks a schedule. Throws FileError. People read of
  /// `unit` and `score_name`.
  nn::TrainingOptions training(const std::string& unit, const std::string& score_name) const;
  /// For inference, and for training.
  GraphOptions graph() const;
  GraphOptions training_graph() const;
  /// The processes that train together: this one, unless mpirun has started several.
  Communicator& ranks() const { return *ranks_; }
  /// The same command line with --resume, as one would type it in a shell.
  const std::string& resume_command() const { return resume_command_; }

  using Names = const std::vector<std::string>&;
  // Of what is on the command line alone; all throw UsageError.

  /// With this option, none but the others makes sense.
  void need_only(const char* option, Names others) const;
  /// With this option, none of the others makes sense.
  void need_none(const char* option, Names others) const;
  /// These options belong together; they may be in the checkpoint, too.
  void need_all_or_none(Names options) const;
  /// With this option there is no sense in several processes.
  void need_one_process(const char* option) const;

 private:
  void add_common_options();
  void add_shards();
  void read_command_line(int argc, char** argv);
  void take_over(const Metadata& saved, const std::string& file, const char* kind);
  void fill_in();
  Metadata all(Option::Saved saved) const;
  std::string fingerprint() const;

  Program program_;
  std::shared_ptr<Communicator> ranks_;
  unsigned most_threads_ = 1;
  bool is_started_by_mpi_ = false;
  bool is_special_ = false;
  std::set<std::string> typed_, given_;        ///< on the command line; there or in the checkpoint
  std::map<std::string, std::string> values_;  ///< those given, and defaults; of flags "yes"
  std::string resume_command_;
  std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
};

}  // namespace dynet_like::examples
