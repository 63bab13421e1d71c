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
  const char* data;             ///< the file that holds its data, see data_files.h
  std::unique_ptr<Workload> (*make)(unsigned hidden, Form form);
  bool has_steps = false;  ///< Form::steps is there
};

/// All of them. Both forms of a model begin with the same weights, so they have the same loss.
const std::vector<ModelKind>& all_models();

/// Throws std::invalid_argument for a name that is not there.
std::unique_ptr<Workload> make_model(const std::string& name, unsigned hidden, Form form);

/// Binary Tree-LSTM (nn::TreeLSTM) with a loss of 5 classes at every node.
std::unique_ptr<Workload> make_tree_lstm(unsigned hidden, Form form);
/// The same with forget gates that see their own child only, as those of the child-sum Tree-LSTM do
/// (Tai et al. 2015, equation 4): f_k = logistic(b_f + U_f h_k), one U_f for both children. There
/// is no cell for such gates in one node: in the form "fused", i, o and u are one product, the rest
/// is op by op.
std::unique_ptr<Workload> make_tree_lstm_own_forget(unsigned hidden, Form form);
/// Child-sum Tree-GRU on the same trees: a leaf is nn::GRU's step from zeros, an inner node its
/// step without input from the sum of its children.
std::unique_ptr<Workload> make_tree_gru(unsigned hidden, Form form);
/// BiLSTM tagger: hidden layer of 32 with tanh, 9 tags.
std::unique_ptr<Workload> make_tagger(unsigned hidden, Form form);
/// The tagger, but a word seen at most 5 times in all the data is a BiLSTM over its characters: 20
/// numbers per character, 64 each way, the last states of both one behind the other.
std::unique_ptr<Workload> make_char_tagger(unsigned hidden, Form form);
/// LSTM language model, embedding and hidden of this size, 10,000 words: every word but the first
/// is predicted from those before it.
std::unique_ptr<Workload> make_language_model(unsigned hidden, Form form);
/// LSTM over a lattice: an arc is a step of nn::LSTM, with the word of the arc, from the state of
/// the position where it begins. Where several arcs end, each has a score s = W_s h + b_s, and the
/// position's h and c are the sums of theirs, weighted by the softmax of the scores. A loss of 9
/// classes at every position.
std::unique_ptr<Workload> make_lattice_lstm(unsigned hidden, Form form);
/// A network of random shape per instance. A word x is tanh(W x + b); two nodes p and q join as
///   combine: tanh(W p + U q + b);  gru: nn::GRU's step from h = p with x = q
///   gate: g * p + (1 - g) * q with g = logistic(W p + U q + b)
/// each with its own weights. A loss of 5 classes at every sink.
std::unique_ptr<Workload> make_random_dag(unsigned hidden, Form form);

}  // namespace dynet_like::bench
