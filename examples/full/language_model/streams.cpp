// Where streams and pieces begin, and the states that go from one piece to the next.
#include "examples/full/language_model/streams.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/core.h>

#include "dynet_like/distributed/shards.h"

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

nn::Minibatches Streams::minibatches() const {
  std::vector<std::uint32_t> all(count_);
  std::iota(all.begin(), all.end(), 0u);
  return nn::Minibatches(pieces_, all);
}

std::size_t Streams::predictions(std::size_t piece, std::span<const std::uint32_t> some) const {
  std::size_t count = 0;
  for (const std::uint32_t stream : some) count += this->piece(stream, piece).size() - 1;
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

void StreamReader::add_losses(Minibatch& batch, std::span<const std::uint32_t> some,
                              std::size_t piece) {
  recorded_.assign(some.begin(), some.end());
  batch.add_losses(some.size(), [&](ComputationGraph& graph, std::size_t i) {
    const std::uint32_t stream = some[i];
    const LanguageModel::State start = piece == 0 ? model_.start(graph) : kept(graph, stream);
    LanguageModel::Reading reading = model_.read(start, streams_.piece(stream, piece));
    ends_[stream] = std::move(reading.end);
    return reading.loss;
  });
  for (const std::uint32_t stream : recorded_) {
    for (const nn::LSTM::State& layer : ends_[stream]) {
      batch.add_output(layer.h);
      batch.add_output(layer.c);
    }
  }
}

// Exchanges bytes: the number of a stream, then its state.
void StreamReader::read_states(Communicator& ranks) {
  const std::size_t size = 2 * layers_.size() * model_.hidden();
  Communicator::Bytes mine;
  for (const std::uint32_t stream : recorded_) {
    append_bytes(mine, &stream, sizeof(stream));
    for (const nn::LSTM::State& layer : ends_[stream]) {
      for (const Expression& part : {layer.h, layer.c}) {
        append_bytes(mine, part.value().v, model_.hidden() * sizeof(float));
      }
    }
  }
  std::vector<Communicator::Bytes> all;
  ranks.all_gather(mine, all);
  states_.clear();
  for (const Communicator::Bytes& bytes : all) {
    const std::size_t step = sizeof(std::uint32_t) + size * sizeof(float);
    for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
      StreamState& state = states_.emplace_back(StreamState{0, std::vector<float>(size)});
      std::memcpy(&state.stream, &bytes[at], sizeof(state.stream));
      std::memcpy(state.numbers.data(), &bytes[at + sizeof(state.stream)], size * sizeof(float));
    }
  }
}

void StreamReader::keep_states() {
  for (const auto& [stream, numbers] : states_) {
    auto next = numbers.begin();
    const auto take = [&] {
      const auto begin = next;
      next += model_.hidden();
      return std::vector<float>(begin, next);
    };
    for (const LayerStates& layer : layers_) {
      layer.h.initialize(stream, take());
      layer.c.initialize(stream, take());
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
                  unsigned streams, unsigned threads, Communicator& ranks) {
  constexpr unsigned kPieceLength = 128;  // limits the memory, without effect on the result
  const Streams text(units, streams, kPieceLength);
  StreamReader reader(model, text, ParameterCollection());
  const std::shared_ptr<Communicator> alone = single_process();
  const RankPart own = part_of_rank(text.count(), ranks.rank(), ranks.size());
  std::vector<std::uint32_t> some(own.size());
  std::iota(some.begin(), some.end(), static_cast<std::uint32_t>(own.begin));
  GraphOptions options;
  options.inference = true;
  options.threads = threads;
  Minibatch batch(options);
  std::vector<double> nats(some.size(), 0.0);
  for (std::size_t piece = 0; piece < text.pieces(); ++piece) {
    batch.clear();
    reader.add_losses(batch, some, piece);
    batch.forward();
    for (std::uint32_t i = 0; i < some.size(); ++i) nats[i] += batch.loss_of(i, i + 1);
    reader.read_states(*alone);
    reader.keep_states();
  }
  std::vector<Communicator::Bytes> all;
  ranks.all_gather(std::as_bytes(std::span(nats)), all);
  double total = 0;
  for (const Communicator::Bytes& bytes : all) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) {
      double of_stream = 0;
      std::memcpy(&of_stream, &bytes[at], sizeof(of_stream));
      total += of_stream;
    }
  }
  return total;
}

}  // namespace dynet_like::examples
