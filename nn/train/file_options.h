// FileOptions: the folder of a run, and what its files say of the program.
#pragma once

#include <string>

#include "dynet_like/io/model_file.h"

namespace dynet_like::nn {

/// The prefix of a run's own settings.
inline constexpr const char* kOwnSettings = "training.";

/// Throws UsageError unless the text is UTF-8, as files need: before an epoch, not after it.
void check_utf8(const std::string& text);

struct FileOptions {
  /// A folder (made if needed) for the best model, the checkpoint and the learning curve. Without
  /// one, the best model is kept in memory, and the run cannot be resumed.
  std::string folder = {};
  /// Resume from the checkpoint in that folder.
  bool resume = false;
  /// Resume also with another version of the library, another instruction set or kind of device
  /// than before. The results are then as good, but have other last bits.
  bool other_bits = false;
  /// Your own settings that results depend on, such as sizes of layers. To resume, they must be the
  /// same as in the checkpoint. Keys must not begin with "training." or "dynet_like.". Keys and
  /// values must be UTF-8.
  Metadata settings = {};
  /// Further entries that a checkpoint keeps, such as paths of data: a program that resumes can
  /// read them there, and they may differ. The rules for keys are the same, and no key may also be
  /// in `settings`.
  Metadata arguments = {};
  /// Larger texts to keep with the best model, such as vocabularies. The rules for keys are those
  /// of `arguments`.
  Metadata texts = {};
  /// Whether to write an event file for TensorBoard.
  bool events = false;

  /// Throws UsageError for options that need a folder, and for keys and texts that files cannot
  /// store.
  void check() const;
};

}  // namespace dynet_like::nn
