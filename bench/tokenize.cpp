// How fast a tokenizer cuts lines into pieces, with one thread. bench/tokenizers_peer.py measures
// Hugging Face's library in the same way.
#include <fmt/core.h>

#include <fstream>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "nn/text/tokenizer.h"

namespace {

using namespace dynet_like;

void run(int argc, char** argv) {
  std::string path, text;
  double seconds = 2;
  bench::Options options("Speed of a tokenizer for the lines of a text, with one thread.");
  options.text("tokenizer", path, "a file tokenizer.json")
      .text("text", text, "a file of lines")
      .seconds(seconds, "how long to measure");
  if (!options.read(argc, argv)) return;
  if (path.empty() || text.empty()) throw UsageError("need --tokenizer and --text");

  const nn::Tokenizer tokenizer = nn::Tokenizer::load(path);
  std::ifstream stream(text);
  if (!stream) throw FileError(text, "the file cannot be opened");
  std::vector<std::string> lines;
  std::size_t bytes = 0, pieces = 0;
  for (std::string line; std::getline(stream, line); bytes += line.size()) lines.push_back(line);

  const auto run = [&] {
    pieces = 0;
    for (const std::string& line : lines) pieces += tokenizer.encode(line).ids.size();
  };
  const double took = bench::seconds_by_turns({run}, seconds)[0];
  fmt::print("{:.2f} MB/s, {:.2f} million pieces/s\n", static_cast<double>(bytes) / took / 1e6,
             static_cast<double>(pieces) / took / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("tokenize", [&] { run(argc, argv); });
}
