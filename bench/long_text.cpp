// The most memory that a long text takes in a pretrained encoder.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/encoders/text_encoder.h"
#include "nn/evaluate/predict.h"

namespace {

using namespace dynet_like;

double resident_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// `texts` of so many bytes, without a space if `dense`: then every byte is a piece.
std::vector<std::string> texts_of(std::size_t texts, std::size_t bytes, bool dense) {
  std::string text;
  const std::string sentence = dense ? "a.b.c." : "It was a bright cold day in April. ";
  while (text.size() < bytes) text += sentence;
  text.resize(bytes);
  return std::vector<std::string>(texts, text);
}

// How one graph at a time, a minibatch of samples, or a server of requests reads a text.
double run_as(const std::string& way, const nn::TextEncoder& encoder,
              const std::vector<std::string>& texts, const GraphOptions& options) {
  double sum = 0;
  const auto read = [&](ComputationGraph& graph, const std::string& text) {
    return as_vector(encoder.text(graph, text).value()).front();
  };
  if (way == "value") {
    for (const std::string& text : texts) {
      ComputationGraph graph(options);
      sum += read(graph, text);
    }
  } else if (way == "predict") {
    for (const float one : nn::predict(texts, read, {.graph = options})) sum += one;
  } else {
    throw UsageError("need value or predict for --way; got " + way);
  }
  return sum;
}

void run(int argc, char** argv) {
  std::string folder, way = "predict";
  unsigned kilobytes = 100, count = 1, threads = 1;
  bool dense = false;
  bench::Options options("The most memory of a long text in an encoder.");
  options.text("encoder", folder, "its folder, see docs/encoders.md")
      .number("kilobytes", kilobytes, 1, 1000000, "of each text")
      .number("texts", count, 1, 1000000, "how many")
      .text("way", way, "value: a graph for each text; or predict")
      .number("threads", threads, 0, 1024, "0: one per processor")
      .flag("dense", dense, "a text in which every byte is a piece");
  if (!options.read(argc, argv)) return;
  if (folder.empty()) throw UsageError("need --encoder");

  ParameterCollection model;
  const nn::TextEncoder encoder = nn::TextEncoder::load(model, folder);
  const std::vector<std::string> texts = texts_of(count, std::size_t{kilobytes} * 1000, dense);
  const std::size_t pieces = encoder.tokenizer().encode(texts[0]).ids.size();
  const double before = resident_megabytes();
  const auto start = std::chrono::steady_clock::now();
  GraphOptions graph;
  graph.inference = true;
  graph.threads = threads;
  const double sum = run_as(way, encoder, texts, graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf(
      "%u texts of %zu pieces: %.0f MB, of which %.0f MB before they ran; %.1f s; sum %.6f\n",
      count, pieces, resident_megabytes(), before, took.count(), sum);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("long_text", [&] { run(argc, argv); });
}
