// The command line of the tagger example.
#pragma once

#include <cstdint>
#include <string>

#include "dynet_like/io/model_file.h"
#include "examples/support/command_line.h"

namespace dynet_like::examples {

/// What a network is, whatever it is trained on.
struct NetworkOptions {
  unsigned embedding = 64, characters = 20, character_hidden = 32, hidden = 100, layers = 1;
  bool crf = false;
  float dropout = 0.4f, word_dropout = 0.1f;
  float outside_bias = 0;  ///< what the score of "O" is lowered by when labels are chosen
};

/// What the user can choose; the defaults are those without --crf.
struct TaggerOptions : NetworkOptions {
  // data: none of it means generated sentences
  std::string data, train, dev, test;
  std::string format;  ///< "conllu", "columns", or empty where --data finds it out
  unsigned train_sentences = 1'000, dev_sentences = 300, test_sentences = 500;
  bool splits_marks = false;  ///< of files that --data finds: in training, "@name" and "#name" are
                              ///< read as two words
  unsigned min_count = 2;

  // training
  unsigned epochs = 10, batch_size = 32;
  float learning_rate = 0.003f, decay = 0.8f;
  std::uint64_t seed = 1;
  unsigned threads = 2;

  // files
  std::string output = "tagger";
  std::string report;
  bool resume = false, apply = false, help = false;

  std::string resume_command;  ///< the same command line with --resume

  bool is_generated() const { return data.empty() && train.empty(); }
};

/// Reads the command line. Throws UsageError for one that makes no sense.
TaggerOptions parse_tagger_options(int argc, char** argv);

/// What --help prints.
std::string tagger_help_text();

/// The network's options as metadata, by their flags, and the way back. Throws for values that make
/// no sense.
Metadata metadata_of(const NetworkOptions& options);
void read_network(const ValueReader& reader, NetworkOptions& options);

}  // namespace dynet_like::examples
