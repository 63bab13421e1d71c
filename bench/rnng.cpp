// The cost of beams over the user's own states, for many sentences together and one after the
// other: time and memory of a generative parser.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include <sys/resource.h>

#include "bench/models/rnng.h"
#include "bench/support/program.h"

namespace {

using namespace dynet_like;
using bench::Rnng;

std::vector<Rnng::Words> random_sentences(std::size_t count, std::size_t length, unsigned words) {
  Random random(1);
  std::vector<Rnng::Words> sentences(count, Rnng::Words(length));
  for (Rnng::Words& sentence : sentences) {
    for (unsigned& word : sentence) word = random.below(words);
  }
  return sentences;
}

using Parses = std::vector<std::vector<std::vector<unsigned>>>;

Parses parse(const char* name, const Rnng& rnng, std::span<const Rnng::Words> sentences,
             std::size_t together, const nn::SearchOptions& options, Minibatch& batch) {
  const auto begin = std::chrono::steady_clock::now();
  Parses parses;
  for (std::size_t i = 0; i < sentences.size(); i += together) {
    batch.clear();
    const auto some = sentences.subspan(i, std::min(together, sentences.size() - i));
    const auto find = [&](ComputationGraph& graph, const Rnng::Words& sentence) {
      return rnng.parse(graph, sentence, options);
    };
    for (auto& found : for_each_sample(batch, some, find)) parses.push_back(std::move(found));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("%-22s %6.2f s, %.0f MB of values\n", name, time.count(),
              static_cast<double>(batch.explain().peak_bytes) * 1e-6);
  return parses;
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  unsigned hidden = 128, words = 2000, sentences = 50, length = 20;
  nn::SearchOptions search = {.beam = 10};
  po::options_description options(
      "A recurrent neural network grammar with random weights parses random sentences by beam\n"
      "search (inference, one thread): all together, together again, and one after the other. "
      "Prints\n"
      "times and the memory of values.\n\n"
      "Options");
  options.add_options()("hidden", po::value(&hidden)->default_value(128), "size of all layers")(
      "words", po::value(&words)->default_value(2000), "size of the vocabulary")(
      "sentences", po::value(&sentences)->default_value(50), "number of sentences")(
      "length", po::value(&length)->default_value(20), "words of a sentence")(
      "beam", po::value(&search.beam)->default_value(10), "hypotheses")(
      "word-beam", po::value(&search.word_beam)->default_value(0),
      "hypotheses that continue from word to word; 0: no beam by words");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("hidden", hidden, 1, 4096);
  bench::check_range("words", words, 1, 1000000);
  bench::check_range("sentences", sentences, 1, 10000);
  bench::check_range("length", length, 1, 1000);
  const Rnng rnng(hidden, words, 20);
  const auto all = random_sentences(sentences, length, words);
  GraphOptions inference;
  inference.inference = true;
  Minibatch many(inference), one(inference);
  const Parses together = parse("together", rnng, all, sentences, search, many);
  parse("together, again", rnng, all, sentences, search, many);
  if (parse("one after the other", rnng, all, 1, search, one) != together) {
    throw std::logic_error("together and alone find different parses");
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-22s %6.0f MB at most\n", "the process",
              static_cast<double>(usage.ru_maxrss) * 1e-3);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("rnng", [&] { run(argc, argv); });
}
