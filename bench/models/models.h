// The models that are measured, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/models/workload.h"

namespace dynet_like::bench {

struct ModelKind {
  const char* name;
  std::vector<unsigned> sizes;  ///< hidden sizes that are measured
  const char* data;             ///< the file to which bench/dump writes its data, or null
  std::unique_ptr<Workload> (*make)(unsigned hidden, Form form);
  bool has_steps = false;  ///< whether Form::steps exists
};

/// All models. All forms of a model begin with the same weights, so they have the same loss.
const std::vector<ModelKind>& all_models();

/// Throws std::invalid_argument for an unknown name.
std::unique_ptr<Workload> make_model(const std::string& name, unsigned hidden, Form form);

/// Binary Tree-LSTM (nn::TreeLSTM) with a loss of 5 classes at every node.
std::unique_ptr<Workload> make_tree_lstm(unsigned hidden, Form form);
/// The same with forget gates that read only their own child, as in the child-sum Tree-LSTM (Tai et
/// al. 2015, equation 4): f_k = sigmoid(b_f + U_f h_k), one U_f for both children. No single node
/// computes such a cell: in the form "fused", i, o and u are one product, and the rest is op by op.
std::unique_ptr<Workload> make_tree_lstm_own_forget(unsigned hidden, Form form);
/// Child-sum Tree-GRU on the same trees: a leaf is a step of nn::GRU from zeros, an inner node a
/// step without input from the sum of its children's states.
std::unique_ptr<Workload> make_tree_gru(unsigned hidden, Form form);
/// BiLSTM tagger: hidden layer of 32 with tanh, 9 tags.
std::unique_ptr<Workload> make_tagger(unsigned hidden, Form form);
/// The tagger, but a word that occurs at most 5 times in all the data is read by a BiLSTM over its
/// characters: 20 numbers per character, 64 per direction; its vector is the last states of both
/// directions, concatenated.
std::unique_ptr<Workload> make_char_tagger(unsigned hidden, Form form);
/// LSTM language model, embedding and hidden of this size, 10,000 words: predicts every word but
/// the first from the words before it.
std::unique_ptr<Workload> make_language_model(unsigned hidden, Form form);
/// LSTM over a lattice. An arc is a step of nn::LSTM, with the arc's word, from the state of the
/// position where it begins. If several arcs end at a position, each has a score s = W_s h + b_s,
/// and the position's h and c are sums of theirs, weighted by the softmax of the scores. A loss of
/// 9 classes at every position.
std::unique_ptr<Workload> make_lattice_lstm(unsigned hidden, Form form);
/// A network of random shape per instance. A word x is tanh(W x + b); two nodes p and q join as
///   combine: tanh(W p + U q + b);  gru: nn::GRU's step from h = p with x = q
///   gate: g * p + (1 - g) * q with g = sigmoid(W p + U q + b)
/// each with its own weights. A loss of 5 classes at every sink.
std::unique_ptr<Workload> make_random_dag(unsigned hidden, Form form);

}  // namespace dynet_like::bench
