// Checkpoints: one file with all that training needs to continue with the same bits.
#pragma once

#include <string>

#include "dynet_like/core/random.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like {

/// Writes the parameters, the trainer's state and settings, the position of the random numbers and
/// the program's own metadata, atomically. load_parameters() reads the file, too. Throws FileError
/// if the file cannot be written, UsageError for keys that begin with "dynet_like.".
void save_checkpoint(const std::string& path, const ParameterCollection& collection,
                     Trainer& trainer, const Random& random, const Metadata& metadata = {});

/// Continues from a checkpoint, and returns the program's metadata. The program must have the same
/// parameters, update the same ones, and have the same kind of trainer with the same constants as
/// before. Throws FileError if the file does not fit. After any exception, nothing has changed.
Metadata load_checkpoint(const std::string& path, const ParameterCollection& collection,
                         Trainer& trainer, Random& random);

/// number_text gives the shortest text that reads back as the same number; number_of reads it.
/// Throws UsageError unless the metadata have a number under that key.
std::string number_text(double number);
double number_of(const Metadata& metadata, const std::string& key);

}  // namespace dynet_like
