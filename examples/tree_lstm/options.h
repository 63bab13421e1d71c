// The command line of the Tree-LSTM example.
#pragma once

#include <cstdint>
#include <string>

#include "examples/support/command_line.h"

namespace dynet_like::examples {

/// What a network is, whatever it is trained on.
struct NetworkOptions {
  unsigned embedding = 64, hidden = 96;
  float dropout = 0;
};

/// What the user can choose; the defaults are those for ListOps.
struct Options : NetworkOptions {
  // data
  std::string data;          ///< folder of a treebank; empty: ListOps
  std::string listops_test;  ///< a file in ListOps' original format to test on
  unsigned train_trees = 80'000, dev_trees = 1'000, test_trees = 5'000;
  unsigned max_tokens = 100;
  unsigned min_count = 2;

  // training
  unsigned epochs = 3, batch_size = 32;
  float learning_rate = 0.003f, decay = 0.4f;
  bool root_loss = false;
  std::uint64_t seed = 1;
  unsigned parts = 2, threads = 2;

  // files
  std::string output = "tree_lstm_listops";
  std::string report;
  bool resume = false, apply = false, help = false;

  std::string resume_command;  ///< the same command line with --resume

  bool is_listops() const { return data.empty(); }
};

/// Reads the command line. Throws UsageError for one that makes no sense.
Options parse_options(int argc, char** argv);

/// What --help prints.
std::string help_text();

/// The network's options, from a command line or a model's file.
void read_network(const ValueReader& reader, NetworkOptions& options);

}  // namespace dynet_like::examples
