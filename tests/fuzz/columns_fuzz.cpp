// Fuzzes the reader of columns: what it accepts must be sentences and survive a round trip.
#include <string>
#include <vector>

#include "nn/data/tagged_sentences.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

void check(const std::string& input, const nn::TaggedColumns& columns) {
  const auto sentences = nn::read_columns(nn::TextSource::of(input, "fuzz"), columns);
  require(!sentences.empty());
  std::string text = "\xEF\xBB\xBF";  // a first word that begins like a mark is text behind one
  for (const nn::TaggedSentence& sentence : sentences) {
    require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      require(!sentence.words[i].empty() && !sentence.tags[i].empty());
      require(sentence.words[i] != "-DOCSTART-");
      // A column more: a tag may end in "\r", and a line of blanks would end the sentence.
      text += sentence.words[i] + "\t" + sentence.tags[i] + "\t.\n";
    }
    text += "\n";
  }
  require(nn::read_columns(nn::TextSource::of(text, "again"), {.count = 3}) == sentences);
}

}  // namespace

void run(const std::string& input) {
  // Narrow limits, so that short inputs reach them.
  const nn::TextLimits limits = {1000, 3000};
  for (const nn::TaggedColumns& columns : std::vector<nn::TaggedColumns>{
           {.limits = limits},
           {.count = 4, .word = 0, .tag = 3, .by_spaces = true, .limits = limits},
           {.count = 0, .word = 1, .tag = 0, .comments = true, .limits = limits},
           {.count = 0, .tag = 2, .by_spaces = true, .comments = true, .limits = limits}}) {
    may_refuse([&] { check(input, columns); });
  }
}

}  // namespace dynet_like::fuzz
