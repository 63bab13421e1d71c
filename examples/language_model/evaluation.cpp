// Losses in inference mode.
#include "examples/language_model/evaluation.h"

#include "examples/language_model/streams.h"

namespace dynet_like::examples {

namespace {

constexpr unsigned kPieceLength = 128;  // bounds the memory, and nothing else

GraphOptions inference_options(unsigned threads) {
  GraphOptions options;
  options.inference = true;
  options.threads = threads;
  return options;
}

}  // namespace

double total_nats(const LanguageModel& model, std::span<const std::uint32_t> units,
                  unsigned streams, unsigned threads) {
  const Streams text(units, streams, kPieceLength);
  StreamReader reader(model, text, ParameterCollection());
  Minibatch batch(inference_options(threads));
  double nats = 0;
  for (std::size_t piece = 0; piece < text.pieces(); ++piece) {
    batch.clear();
    reader.add_losses(batch, piece, false);
    nats += static_cast<double>(batch.forward());
    reader.keep_states();
  }
  return nats;
}

std::vector<double> nats_of_each(const LanguageModel& model,
                                 std::span<const std::vector<std::uint32_t>> texts,
                                 unsigned threads) {
  Minibatch batch(inference_options(threads));
  const std::vector<Expression> losses =
      batch.record(texts.size(), [&](ComputationGraph& graph, std::size_t i) {
        return model.read(graph, model.start(graph), texts[i]).loss;
      });
  for (const Expression& loss : losses) batch.add_output(loss);
  batch.forward();
  std::vector<double> nats;
  for (const Expression& loss : losses) nats.push_back(loss.value().at(0));
  return nats;
}

}  // namespace dynet_like::examples
