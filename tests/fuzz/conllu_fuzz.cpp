// Fuzzes the reader of CoNLL-U: what it accepts is written, and read again as the same.
#include <string>
#include <vector>

#include "nn/data/conllu.h"
#include "tests/fuzz/fuzz.h"

void dynet_like::fuzz::run(const std::string& input) {
  may_refuse([&] {
    // Narrow limits, so that short inputs reach them.
    const auto sentences = nn::read_conllu(nn::TextSource::of(input, "fuzz"), {1000, 3000});
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
    require(nn::read_conllu(nn::TextSource::of(nn::to_conllu(sentences), "again")) == sentences);
  });
}
