// The models that are measured, each op by op and with the layers of nn/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

/// A model with its data: records the loss of an instance on a graph.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::size_t size() const = 0;
  virtual Expression loss(ComputationGraph& graph, std::size_t instance) const = 0;
  ParameterCollection& parameters() { return parameters_; }

 protected:
  ParameterCollection parameters_;
};

/// Written op by op, as programs for DyNet are, or with the layers of nn/.
enum class Form { ops, fused };

/// Binary Tree-LSTM, embedding 128, a loss of 5 classes at every node.
std::unique_ptr<Workload> make_tree_lstm(unsigned hidden, Form form);
/// BiLSTM tagger, embedding 128, hidden layer of 32, 9 tags.
std::unique_ptr<Workload> make_tagger(unsigned hidden, Form form);
/// LSTM language model, embedding and hidden of this size, 10,000 words.
std::unique_ptr<Workload> make_language_model(unsigned hidden, Form form);

}  // namespace dynet_like::bench
