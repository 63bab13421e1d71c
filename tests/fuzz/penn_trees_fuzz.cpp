// Fuzzes the reader of Penn Treebank trees: what it accepts is read again from what is written.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/penn_trees.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like;
  if (size == 0) return 0;
  nn::PennOptions options = {.max_depth = 50, .limits = {1000, 3000}};
  options.functions = data[0] & 1;
  options.traces = data[0] & 2;
  options.join_unary = data[0] & 4;
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  const auto text_of = [](const std::vector<nn::Tree>& trees, const nn::Vocabulary& labels) {
    std::string text;
    for (const nn::Tree& tree : trees) text += nn::to_penn(tree, labels) + '\n';
    return text;
  };
  try {
    nn::Vocabulary labels, again;
    const std::string text = text_of(nn::read_penn_trees(stream, "fuzz", labels, options), labels);
    // All that is left is kept. Labels that have "+" themselves become several brackets.
    options = {.functions = true, .traces = true, .max_depth = 1u << 20};
    std::istringstream written(text);
    if (text_of(nn::read_penn_trees(written, "again", again, options), again) != text) std::abort();
  } catch (const FileError& error) {
    if (error.file() != "fuzz") std::abort();
  }
  return 0;
}
