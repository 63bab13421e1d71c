// Words and tags: of columns line by line, of CoNLL-U from what its own reader gives.
#include "nn/data/tagged_sentences.h"

#include <string_view>
#include <utility>

#include "dynet_like/core/errors.h"
#include "nn/data/column_line.h"
#include "nn/data/conllu.h"

namespace dynet_like::nn {

namespace {

void add_word(const ColumnLine& line, TaggedSentence& sentence) {
  const std::vector<std::string_view> columns = line.columns(2);
  if (columns[0].empty()) line.fail("need a word; got nothing", columns[0]);
  if (columns[1].empty()) line.fail("need a tag; got nothing", columns[1]);
  sentence.words.emplace_back(columns[0]);
  sentence.tags.emplace_back(columns[1]);
}

std::vector<TaggedSentence> tagged(std::vector<ConlluSentence> sentences) {
  std::vector<TaggedSentence> result;
  for (ConlluSentence& sentence : sentences) {
    TaggedSentence& next = result.emplace_back();
    for (ConlluColumns& word : sentence.words) {
      next.words.push_back(std::move(word.form));
      next.tags.push_back(std::move(word.upos));
    }
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> sizes_of(std::span<const TaggedSentence> sentences) {
  std::vector<std::uint32_t> sizes;
  sizes.reserve(sentences.size());
  for (const TaggedSentence& sentence : sentences) {
    sizes.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  }
  return sizes;
}

std::vector<TaggedSentence> read_conllu_tags(std::istream& stream, const std::string& file,
                                             const TextLimits& limits) {
  return tagged(read_conllu(stream, file, limits));
}

std::vector<TaggedSentence> read_conllu_tags(const std::string& path, const TextLimits& limits) {
  return tagged(read_conllu(path, limits));
}

std::vector<TaggedSentence> read_columns(std::istream& stream, const std::string& file,
                                         const TextLimits& limits) {
  LineReader lines(stream, file, limits);
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  const auto finish = [&] {
    if (!sentence.words.empty()) sentences.push_back(std::exchange(sentence, {}));
  };
  std::string_view text;
  while (lines.next(text)) {
    if (text.find_first_not_of(" \t") == text.npos) {
      finish();
    } else {
      add_word({text, file, lines.number()}, sentence);
    }
  }
  finish();
  if (sentences.empty()) throw FileError(file, "need at least one sentence; got none");
  return sentences;
}

std::vector<TaggedSentence> read_columns(const std::string& path, const TextLimits& limits) {
  std::ifstream stream = open_text(path, limits);
  return read_columns(stream, path, limits);
}

}  // namespace dynet_like::nn
