// Where streams and pieces begin, and what passes from one piece to the next.
#include "examples/full/language_model/streams.h"

#include <algorithm>

#include <fmt/core.h>

namespace dynet_like::examples {

Streams::Streams(std::span<const std::uint32_t> units, unsigned count, unsigned length)
    : units_(units) {
  if (units.size() < 2 || count < 1 || length < 2) {
    throw UsageError(
        fmt::format("[Streams] need 2 units, 1 stream and length 2 or more; got {}, "
                    "{} and {}",
                    units.size(), count, length));
  }
  count_ = static_cast<unsigned>(std::min<std::size_t>(count, predictions()));
  const std::size_t longest = (predictions() + count_ - 1) / count_;
  pieces_ = (longest + length - 1) / length;
}

std::span<const std::uint32_t> Streams::piece(unsigned stream, std::size_t piece) const {
  const std::size_t begin = predictions() * stream / count_;
  const std::size_t size = predictions() * (stream + 1) / count_ - begin;
  const std::size_t first = size * piece / pieces_, last = size * (piece + 1) / pieces_;
  return units_.subspan(begin + first, last - first + 1);
}

std::size_t Streams::predictions(std::size_t piece) const {
  std::size_t count = 0;
  for (unsigned stream = 0; stream < count_; ++stream) {
    count += this->piece(stream, piece).size() - 1;
  }
  return count;
}

StreamReader::StreamReader(const LanguageModel& model, const Streams& streams,
                           ParameterCollection states)
    : model_(model), streams_(streams), ends_(streams.count()) {
  const auto add = [&](const char* name) {
    const LookupParameter table = states.add_lookup_parameters(streams.count(), {model.hidden()},
                                                               ParameterInitConst(0), name);
    table.set_updated(false);
    return table;
  };
  for (unsigned i = 0; i < model.layers(); ++i) layers_.push_back({add("h"), add("c")});
}

void StreamReader::add_losses(Minibatch& batch, std::size_t piece, bool training) {
  batch.add_losses(streams_.count(), [&](ComputationGraph& graph, std::size_t i) {
    const auto stream = static_cast<unsigned>(i);
    LanguageModel::Reading reading =
        model_.read(graph, piece == 0 ? model_.start(graph) : kept(graph, stream),
                    streams_.piece(stream, piece), training);
    ends_[stream] = std::move(reading.end);
    return reading.loss;
  });
  for (const LanguageModel::State& end : ends_) {
    for (const nn::LSTM::State& layer : end) {
      batch.add_output(layer.h);
      batch.add_output(layer.c);
    }
  }
}

void StreamReader::keep_states() {
  for (unsigned stream = 0; stream < streams_.count(); ++stream) {
    for (unsigned i = 0; i < layers_.size(); ++i) {
      layers_[i].h.initialize(stream, as_vector(ends_[stream][i].h.value()));
      layers_[i].c.initialize(stream, as_vector(ends_[stream][i].c.value()));
    }
  }
}

LanguageModel::State StreamReader::kept(ComputationGraph& graph, unsigned stream) const {
  LanguageModel::State state;
  for (const LayerStates& layer : layers_) {
    state.push_back({const_lookup(graph, layer.h, stream), const_lookup(graph, layer.c, stream)});
  }
  return state;
}

double total_nats(const LanguageModel& model, std::span<const std::uint32_t> units,
                  unsigned streams, unsigned threads) {
  constexpr unsigned kPieceLength = 128;  // bounds the memory, and nothing else
  const Streams text(units, streams, kPieceLength);
  StreamReader reader(model, text, ParameterCollection());
  GraphOptions options;
  options.inference = true;
  options.threads = threads;
  Minibatch batch(options);
  double nats = 0;
  for (std::size_t piece = 0; piece < text.pieces(); ++piece) {
    batch.clear();
    reader.add_losses(batch, piece, false);
    nats += static_cast<double>(batch.forward());
    reader.keep_states();
  }
  return nats;
}

}  // namespace dynet_like::examples
