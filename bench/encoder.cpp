// A pretrained encoder: sentences per second in inference and in training, on sentences of mixed
// lengths, with one thread. encoder_peer.py times PyTorch on the same ids.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/pooling.h"

namespace {

using namespace dynet_like;
using Ids = std::vector<std::uint32_t>;

// A line of numbers for each sentence.
std::vector<Ids> read_ids(const std::string& file) {
  std::ifstream stream(file);
  std::vector<Ids> sentences;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream numbers(line);
    sentences.push_back(Ids(std::istream_iterator<std::uint32_t>(numbers), {}));
  }
  if (sentences.empty()) throw FileError(file, "[encoder] need lines of ids; got none");
  return sentences;
}

// Lengths like those of sentences of news: 3 to 60 pieces, 22 on average.
std::vector<Ids> draw_ids(unsigned count, unsigned vocabulary) {
  Random random(1);
  std::vector<Ids> sentences(count);
  for (Ids& ids : sentences) {
    ids.resize(3 + (random.below(20) + random.below(20)) * (1 + random.below(4) / 3));
    for (std::uint32_t& id : ids) id = random.below(vocabulary);
  }
  return sentences;
}

// The sentences that run together. Those of one length are near each other.
struct Batches {
  std::vector<Ids> sentences;
  std::size_t size;

  template <class F>
  void each(const F& f) const {
    for (std::size_t begin = 0; begin < sentences.size(); begin += size) {
      f(begin, std::min(begin + size, sentences.size()));
    }
  }
};

// The mean of the pieces, as sentence embeddings are made.
Expression embed(ComputationGraph& graph, const nn::Encoder& encoder, const Ids& ids) {
  return nn::pool_sentence(encoder(graph, ids), nn::Pooling::mean);
}

double infer(const Batches& batches, const nn::Encoder& encoder) {
  GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
  double checksum = 0;
  batches.each([&](std::size_t begin, std::size_t end) {
    batch.clear();
    std::vector<Expression> outputs;
    for (std::size_t i = begin; i < end; ++i) {
      outputs.push_back(embed(batch.new_graph(), encoder, batches.sentences[i]));
      batch.add_output(outputs.back());
    }
    batch.forward();
    for (const Expression& output : outputs) checksum += output.value().at(0);
  });
  return checksum;
}

double train(const Batches& batches, const nn::Encoder& encoder, AdamTrainer& trainer) {
  Minibatch batch;
  double loss = 0;
  batches.each([&](std::size_t begin, std::size_t end) {
    batch.clear();
    for (std::size_t i = begin; i < end; ++i) {
      batch.add_loss(squared_norm(embed(batch.new_graph(), encoder, batches.sentences[i])));
    }
    loss += static_cast<double>(trainer.update(batch));
  });
  return loss;
}

nn::EncoderConfig small_config() {  // of MiniLM
  nn::EncoderConfig config;
  config.size = 384;
  config.hidden = 1536;
  config.layers = 6;
  return config;
}

void run(int argc, char** argv) {
  std::string folder, file;
  unsigned sentences = 512, batch_size = 32;
  double seconds = 10;
  bench::Options options(
      "Prints sentences per second of processor time, with one thread, of an encoder whose "
      "columns\n"
      "are averaged: in inference, and in training with Adam. Without a model, one of MiniLM's\n"
      "shape has random weights.");
  options.text("model", folder, "a folder with config.json and model.safetensors")
      .text("ids", file, "a file with a line of ids for each sentence (default: random ids)")
      .number("sentences", sentences, 1, 1000000, "how many of them")
      .number("batch-size", batch_size, 1, 1000000, "sentences that run together")
      .seconds(seconds, "how long to measure; at least three runs of each");
  if (!options.read(argc, argv)) return;

  ParameterCollection model;
  const nn::Encoder encoder =
      folder.empty() ? nn::Encoder(model, small_config()) : nn::load_encoder(model, folder);
  Batches batches{file.empty() ? draw_ids(sentences, encoder.config().vocabulary) : read_ids(file),
                  batch_size};
  batches.sentences.resize(std::min<std::size_t>(sentences, batches.sentences.size()));
  std::size_t pieces = 0;
  for (const Ids& ids : batches.sentences) pieces += ids.size();
  const std::size_t count = batches.sentences.size();
  fmt::print("{} sentences of {:.1f} pieces\n", count,
             static_cast<double>(pieces) / static_cast<double>(count));
  AdamTrainer trainer(model, 1e-5f);
  const std::vector<double> times = bench::seconds_by_turns(
      {[&] { infer(batches, encoder); }, [&] { train(batches, encoder, trainer); }}, seconds);
  fmt::print("inference {:.1f} sentences per second\ntraining {:.1f} sentences per second\n",
             static_cast<double>(count) / times[0], static_cast<double>(count) / times[1]);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("encoder", [&] { run(argc, argv); });
}
