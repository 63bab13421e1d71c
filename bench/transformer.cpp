// A Transformer tagger. Do sentences of different lengths share batches, and how much faster does
// it train with the ops `attention` and `layer_norm` than composed of other operations?
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "bench/models/transformer.h"
#include "bench/support/program.h"
#include "nn/data/tagged_sentences.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::bench::transformer;

constexpr unsigned kSentences = 32;

// -------------------------------------------------------------------------------- measurements

struct Measured {
  std::uint64_t batches = 0;
  double words_per_second = 0;  ///< of processor time, from recording to update; the median
};

template <class Ops>
Measured measure(const std::vector<unsigned>& lengths, double seconds, bool explains) {
  const TransformerTagger tagger;
  AdamTrainer trainer(tagger.model, 1e-4f);
  double words = 0;
  for (const unsigned length : lengths) words += length;
  Minibatch batch;
  std::vector<double> times;
  double total = 0;
  while (total < seconds || times.size() < 3) {
    const std::clock_t start = std::clock();
    record<Ops>(batch, tagger, lengths);
    batch.forward();
    trainer.update(batch.backward());
    times.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  const auto explanation = explain<Ops>(tagger, lengths);
  if (explains) std::cout << explanation << '\n';
  return {explanation.batches, words / times[times.size() / 2]};
}

std::vector<unsigned> lengths_of(const std::string& file) {
  std::vector<unsigned> lengths;
  if (file.empty()) {
    for (unsigned i = 0; i < kSentences; ++i) lengths.push_back(2 + i * 13 % 32);
    return lengths;
  }
  for (const nn::TaggedSentence& sentence : nn::read_conllu_tags(file)) {
    const std::size_t words = std::min<std::size_t>(sentence.words.size(), kLongest);
    if (lengths.size() < kSentences) lengths.push_back(static_cast<unsigned>(words));
  }
  return lengths;
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  double seconds = 2;
  std::string file;
  po::options_description options(
      "A Transformer tagger (2 layers of size 128, 4 heads) on 32 sentences, with one thread.\n"
      "Prints the number of batches of forward, and words per second of processor time in "
      "training:\n"
      "with the ops attention and layer_norm, and composed of other operations. Sentences have\n"
      "different lengths, or all their mean length.\n\n"
      "Options");
  auto add = options.add_options();
  add("seconds", po::value(&seconds)->default_value(2, "2"), "seconds per measurement");
  add("data", po::value(&file),
      "take lengths from the first sentences of this CoNLL-U file (default: 2 to 33)");
  add("explain", "show what ran in which batches");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);

  const std::vector<unsigned> different = lengths_of(file);
  unsigned total = 0;
  for (const unsigned words : different) total += words;
  const std::vector<unsigned> equal(different.size(),
                                    total / static_cast<unsigned>(different.size()));
  const bool explains = values.contains("explain");
  const auto print = [&](const char* name, auto ops) {
    using Ops = decltype(ops);
    const Measured a = measure<Ops>(equal, seconds, explains);
    const Measured b = measure<Ops>(different, seconds, explains);
    std::printf("%-24s %8llu %9llu   %8.0f %9.0f\n", name,
                static_cast<unsigned long long>(a.batches),
                static_cast<unsigned long long>(b.batches), a.words_per_second, b.words_per_second);
  };
  std::printf("%-24s %18s   %18s\n", "", "batches", "words per second");
  std::printf("%-24s %8s %9s   %8s %9s\n", "", "equal", "different", "equal", "different");
  print("attention, layer_norm", OneOp());
  print("other operations", OtherOps());
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("transformer", [&] { run(argc, argv); });
}
