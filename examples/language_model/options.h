// The command line of the language model example.
#pragma once

#include <cstdint>
#include <string>

#include "examples/support/command_line.h"

namespace dynet_like::examples {

/// What the user can choose; the defaults are those without a file.
struct Options {
  // data
  std::string data;  ///< a text file; empty: generated sentences
  unsigned sentences = 10'000;
  std::string level = "character";  ///< or "word"
  unsigned min_count = 2;

  // model
  unsigned embedding = 16, hidden = 128, layers = 1;
  float dropout = 0;

  // training
  unsigned epochs = 6, batch_size = 16, sequence_length = 32;
  float learning_rate = 0.01f, decay = 0.6f;
  float clip = 0.25f;
  std::uint64_t seed = 1;
  unsigned threads = 2;

  // use
  bool apply = false;
  unsigned sample = 0;
  float temperature = 1;
  std::string prompt;

  // files
  std::string output = "language_model_generated";
  std::string report;
  bool resume = false;
  bool help = false;

  std::string resume_command;  ///< the same command line with --resume
};

/// Reads the command line. Throws UsageError for one that makes no sense.
Options parse_options(int argc, char** argv);

/// What --help prints.
std::string help_text();

/// What a model is, from a command line or a model's file: its level and its sizes.
void read_model(const ValueReader& reader, Options& options);

}  // namespace dynet_like::examples
