// Checkpoints: all that training needs to go on with the same bits, in one file.
#pragma once

#include <string>

#include "dynet_like/core/random.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

/// Writes the parameters, the trainer's state and settings, the random numbers' position and the
/// program's own metadata, atomically. It is a model file too: load_parameters() reads it.
/// Throws FileError if the file cannot be written, UsageError for keys that begin "dynet_like.".
void save_checkpoint(const std::string& path, const ParameterCollection& collection,
                     Trainer& trainer, const Random& random, const Metadata& metadata = {});

/// Goes on from a checkpoint and returns its metadata. The parameters, which of them are updated,
/// the kind of trainer and its constants are the program's and must be as they were. Throws
/// FileError if the file does not fit. Whatever it throws, nothing has changed.
Metadata load_checkpoint(const std::string& path, const ParameterCollection& collection,
                         Trainer& trainer, Random& random);

/// A number as the shortest text that reads back as the same number, and the way back. Throws
/// UsageError unless there is a number under that key.
std::string number_text(double number);
double number_of(const Metadata& metadata, const std::string& key);

}  // namespace dynet_like
