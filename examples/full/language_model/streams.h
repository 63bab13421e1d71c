// Truncated backpropagation: a text as streams, read beside each other piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/dynet_like.h"
#include "examples/full/language_model/model.h"
#include "nn/data/minibatches.h"

namespace dynet_like::examples {

/// A text cut into streams of equal length, and these into pieces, all but for one unit. Every unit
/// of the text but the first is predicted in exactly one piece, from the one before it.
class Streams {
 public:
  /// At most `count` streams, of pieces with at most `length` predictions. `units` must live on.
  /// Throws UsageError unless there are two units, one stream and a length of 2 or more.
  Streams(std::span<const std::uint32_t> units, unsigned count, unsigned length);

  unsigned count() const { return count_; }
  std::size_t pieces() const { return pieces_; }
  /// What is predicted in a piece, after the unit before it. Never fewer than two units.
  std::span<const std::uint32_t> piece(unsigned stream, std::size_t piece) const;
  /// For a training run, a minibatch per piece: all streams.
  nn::Minibatches minibatches() const;
  /// How many units are predicted, by all streams together.
  std::size_t predictions() const { return units_.size() - 1; }
  std::size_t predictions(std::size_t piece, std::span<const std::uint32_t> some) const;

 private:
  std::span<const std::uint32_t> units_;
  unsigned count_;
  std::size_t pieces_;
};

/// Reads streams with a model. The state at the end of a piece is data for the next one: gradients
/// do not flow back beyond it. Between two pieces it lies in tables, so that a checkpoint of their
/// collection has it.
class StreamReader {
 public:
  /// Adds the tables to `states`. Model and streams must live on.
  StreamReader(const LanguageModel& model, const Streams& streams, ParameterCollection states);

  /// Records a piece of each of these streams, one graph each, with its loss. Piece 0 begins with
  /// zeros, all others where the last one ended.
  void add_losses(Minibatch& batch, std::span<const std::uint32_t> some, std::size_t piece);
  /// Reads the states at their ends; after the minibatch's forward pass, and before parameters
  /// change. Those of other processes' streams come from there.
  void read_states(Communicator& ranks);
  /// Keeps them; after the backward pass, for nothing that a graph reads may change before.
  void keep_states();

  const Streams& streams() const { return streams_; }

 private:
  /// By stream.
  struct LayerStates {
    LookupParameter h, c;
  };

  /// The numbers of h and c of all layers, one behind the other.
  struct StreamState {
    std::uint32_t stream;
    std::vector<float> numbers;
  };

  LanguageModel::State kept(ComputationGraph& graph, unsigned stream) const;

  const LanguageModel& model_;
  const Streams& streams_;
  std::vector<LayerStates> layers_;
  std::vector<std::uint32_t> recorded_;     ///< streams
  std::vector<LanguageModel::State> ends_;  ///< by stream
  std::vector<StreamState> states_;         ///< that were read
};

/// The sum of the losses of all units but the first, in nats, read in at most `streams` parallel
/// streams, which processes share, if there are any. It does not depend on the number of threads
/// and processes.
double total_nats(const LanguageModel& model, std::span<const std::uint32_t> units,
                  unsigned streams, unsigned threads, Communicator* ranks = nullptr);

}  // namespace dynet_like::examples
