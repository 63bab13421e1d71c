// Fuzzes the reader of Penn Treebank trees: what it accepts is read again from what is written.
#include <string>

#include "nn/data/penn_trees.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

std::string read_and_written(nn::TextSource source, const nn::PennOptions& options) {
  nn::Vocabulary labels;
  std::string text;
  for (const nn::Tree& tree : nn::read_penn_trees(std::move(source), labels, options)) {
    text += nn::to_penn(tree, labels) + '\n';
  }
  return text;
}

}  // namespace

void run(const std::string& input) {
  if (input.empty()) return;
  const nn::PennOptions options = {.functions = (input[0] & 1) != 0,
                                   .traces = (input[0] & 2) != 0,
                                   .join_unary = (input[0] & 4) != 0,
                                   .max_depth = 50,
                                   .limits = {1000, 3000}};
  may_refuse([&] {
    const std::string text = read_and_written(nn::TextSource::of(input.substr(1), "fuzz"), options);
    // All that is left is kept. Labels that have "+" themselves become several brackets.
    require(read_and_written(nn::TextSource::of(text, "again"),
                             {.functions = true, .traces = true, .max_depth = 1u << 20}) == text);
  });
}

}  // namespace dynet_like::fuzz
