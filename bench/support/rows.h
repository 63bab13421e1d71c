// The rows that bench/throughput measures.
#pragma once

#include <string>
#include <vector>

#include "batching/policy.h"
#include "bench/models/models.h"

namespace dynet_like::bench {

/// A model and how it is run.
struct Row {
  std::string model;
  unsigned hidden = 0, batch = 0;
  bool train = false;
  /// "fused": with the layers of nn/; "ops": op by op; "steps": the same, each step a cell(f);
  /// "single": op by op, without batching.
  std::string form;
  batching::Policy policy = batching::Policy::automatic;
  unsigned threads = 1;

  /// For example "tree_lstm/h128/b64/train/fused/auto/t1".
  std::string name() const;
};

/// All rows: every model and form for several sizes of minibatches, in training and inference, with
/// one and two threads; for minibatches of 64, with every policy.
std::vector<Row> all_rows();

}  // namespace dynet_like::bench
