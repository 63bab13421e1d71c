// How fast a tokenizer cuts lines into pieces, with one thread. bench/tokenizers_peer.py measures
// Hugging Face's library in the same way.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/core/errors.h"
#include "nn/text/tokenizer.h"

namespace {

using namespace dynet_like;

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  std::string path, text;
  double seconds = 2;
  po::options_description options("Speed of a tokenizer for the lines of a text.\n\nOptions");
  options.add_options()("tokenizer", po::value(&path), "a file tokenizer.json")(
      "text", po::value(&text), "a file of lines")(
      "seconds", po::value(&seconds)->default_value(2, "2"), "how long to measure");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);
  if (path.empty() || text.empty()) throw po::error("need --tokenizer and --text");

  const nn::Tokenizer tokenizer = nn::Tokenizer::load(path);
  std::ifstream stream(text);
  if (!stream) throw FileError(text, "the file cannot be opened");
  std::vector<std::string> lines;
  std::size_t bytes = 0, pieces = 0;
  for (std::string line; std::getline(stream, line); bytes += line.size()) lines.push_back(line);

  using Clock = std::chrono::steady_clock;
  double best = 0;  // lines that other programs of the machine slow down do not count
  for (const auto begin = Clock::now();
       best == 0 || Clock::now() - begin < std::chrono::duration<double>(seconds);) {
    pieces = 0;
    const auto start = Clock::now();
    for (const std::string& line : lines) pieces += tokenizer.encode(line).ids.size();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    best = best == 0 ? took : std::min(best, took);
  }
  std::printf("%.2f MB/s, %.2f million pieces/s\n", static_cast<double>(bytes) / best / 1e6,
              static_cast<double>(pieces) / best / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("tokenize", [&] { run(argc, argv); });
}
