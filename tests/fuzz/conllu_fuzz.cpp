// Fuzzes the reader of CoNLL-U: what it accepts is written, and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/conllu.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like;
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    // Narrow limits, so that short inputs reach them.
    const std::vector<nn::ConlluSentence> sentences = nn::read_conllu(stream, "fuzz", {1000, 3000});
    require(!sentences.empty());
    for (const nn::ConlluSentence& sentence : sentences) {
      require(!sentence.words.empty());
      try {
        const std::vector<std::uint32_t> heads = sentence.heads();
        require(!nn::is_tree(heads) || heads.size() == sentence.words.size());
        nn::is_projective(heads);
      } catch (const UsageError&) {  // a word without a head
      }
      for (const nn::ConlluColumns& word : sentence.words) nn::conllu_value(word.feats, "Number");
      if (const auto text = sentence.comment("text")) require(text->find('\n') == text->npos);
    }
    const std::string text = nn::to_conllu(sentences);
    std::istringstream again(text);
    require(nn::read_conllu(again, "again") == sentences);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
