// Truncated backpropagation: a text as parallel streams, which are read piece by piece.
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

/// Cuts a text into streams of equal length, except for one unit, and these into pieces. Every unit
/// of the text but the first is predicted in exactly one piece, from the unit before it.
class Streams {
 public:
  /// At most `count` streams, in pieces of at most `length` predictions. `units` must outlive it.
  /// Throws UsageError unless there are at least two units, one stream and a length of 2.
  Streams(std::span<const std::uint32_t> units, unsigned count, unsigned length);

  unsigned count() const { return count_; }
  std::size_t pieces() const { return pieces_; }
  /// The units of a piece, after the unit before it: at least two.
  std::span<const std::uint32_t> piece(unsigned stream, std::size_t piece) const;
  /// Minibatches for a training run: the n-th has piece n of all streams.
  nn::Minibatches minibatches() const;
  /// The number of predictions, in all streams together.
  std::size_t predictions() const { return units_.size() - 1; }
  std::size_t predictions(std::size_t piece, std::span<const std::uint32_t> some) const;

 private:
  std::span<const std::uint32_t> units_;
  unsigned count_;
  std::size_t pieces_;
};

/// Reads streams with a model. The state at the end of a piece is data for the next piece:
/// gradients do not flow back further. Between pieces the states are in tables, so that a
/// checkpoint of their collection includes them.
class StreamReader {
 public:
  /// Adds the tables to `states`. Model and streams must outlive it.
  StreamReader(const LanguageModel& model, const Streams& streams, ParameterCollection states);

  /// Records a piece of each of these streams, one graph each, with its loss. Piece 0 begins with
  /// zeros, others with the state at the end of the last piece.
  void add_losses(Minibatch& batch, std::span<const std::uint32_t> some, std::size_t piece);
  /// Reads the states at the ends of pieces, after the minibatch's forward pass and before
  /// parameters change. Those of other processes' streams are received.
  void read_states(Communicator& ranks);
  /// Writes them into the tables, after the backward pass, since graphs read the tables until then.
  void keep_states();

  const Streams& streams() const { return streams_; }

 private:
  /// By stream.
  struct LayerStates {
    LookupParameter h, c;
  };

  /// The numbers of h and c of all layers, one after the other.
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
  std::vector<StreamState> states_;         ///< the states that were read
};

/// The sum of the losses of all units but the first, in nats. Reads at most `streams` parallel
/// streams, which processes share, if there are several. The result does not depend on the number
/// of threads and processes.
double total_nats(const LanguageModel& model, std::span<const std::uint32_t> units,
                  unsigned streams, unsigned threads, Communicator& ranks);

}  // namespace dynet_like::examples
