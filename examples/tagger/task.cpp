// Finding and reading files, and numbering what they contain.
#include "examples/tagger/task.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "examples/support/fingerprint.h"
#include "examples/tagger/generator.h"

namespace dynet_like::examples {

namespace {

namespace fs = std::filesystem;

using Sentences = std::vector<nn::TaggedSentence>;

struct Corpus {
  Sentences train, dev, test;
  std::string name, score_name;
};

/// The one file in a folder that ends so; empty if there is none.
std::string find_file(const std::string& folder, const std::string& ending) {
  std::error_code error;
  std::string found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path();
    if (!path.ends_with(ending)) continue;
    if (!found.empty()) throw FileError(folder, "need one file *" + ending + "; got several");
    found = path;
  }
  if (error) throw FileError(folder, "need a folder; got none");
  return found;
}

/// Fills in the names and the format of the files in --data.
TaggerOptions with_files(TaggerOptions options) {
  if (options.data.empty()) return options;
  const auto take = [&](const char* format, const char* train, const char* dev, const char* test) {
    options.format = format;
    options.train = find_file(options.data, train);
    options.dev = find_file(options.data, dev);
    options.test = find_file(options.data, test);
    return !options.train.empty() && !options.dev.empty() && !options.test.empty();
  };
  if (take("conllu", "-ud-train.conllu", "-ud-dev.conllu", "-ud-test.conllu")) return options;
  if (take("columns", "wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")) {
    // Only its training file has "@name" as one word: what follows "@" there is a place.
    options.splits_marks = true;
    return options;
  }
  throw FileError(options.data,
                  "need the files of a Universal Dependencies treebank or of WNUT-17 in this "
                  "folder; got others: see --help");
}

bool has_entities(const Sentences& sentences) {
  return std::any_of(sentences.begin(), sentences.end(), [](const nn::TaggedSentence& sentence) {
    return std::any_of(sentence.tags.begin(), sentence.tags.end(),
                       [](const std::string& tag) { return tag.starts_with("B-"); });
  });
}

/// "@name" and "#name" as two words each, of which both belong to an entity or none.
nn::TaggedSentence with_split_marks(const nn::TaggedSentence& sentence) {
  nn::TaggedSentence result;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    std::string word = sentence.words[i], tag = sentence.tags[i];
    if (word.size() > 1 && (word[0] == '@' || word[0] == '#')) {
      result.words.push_back(word.substr(0, 1));
      result.tags.push_back(tag);
      word.erase(0, 1);
      if (tag.starts_with("B-")) tag[0] = 'I';
    }
    result.words.push_back(std::move(word));
    result.tags.push_back(std::move(tag));
  }
  return result;
}

Corpus read_corpus(const TaggerOptions& options) {
  const bool is_conllu = options.format == "conllu";
  const auto read = [&](const std::string& path) {
    return is_conllu ? nn::read_conllu_tags(path) : nn::read_columns(path);
  };
  Corpus corpus{read(options.train), read(options.dev), read(options.test), options.train, {}};
  if (options.splits_marks) {
    for (nn::TaggedSentence& sentence : corpus.train) sentence = with_split_marks(sentence);
  }
  corpus.score_name = is_conllu                    ? "upos_accuracy"
                      : has_entities(corpus.train) ? "entity_f1"
                                                   : "label_accuracy";
  return corpus;
}

Corpus generate_corpus(const TaggerOptions& options) {
  Random random(options.seed);
  Corpus corpus{{}, {}, {}, "generated sentences", "label_accuracy"};
  corpus.train = generate_sentences(options.train_sentences, random);
  corpus.dev = generate_sentences(options.dev_sentences, random);
  corpus.test = generate_sentences(options.test_sentences, random);
  return corpus;
}

TaggerData encoded(Sentences sentences, const Encoding& encoding) {
  TaggerData data;
  for (const nn::TaggedSentence& sentence : sentences) {
    data.encoded.push_back(encoding.encode(sentence.words));
  }
  data.sentences = std::move(sentences);
  return data;
}

std::string fingerprint_of(const TaggerTask& task) {
  Fingerprint fingerprint;
  for (const TaggerData* data : {&task.train, &task.dev}) {
    for (const nn::TaggedSentence& sentence : data->sentences) {
      for (const auto* texts : {&sentence.words, &sentence.tags}) {
        for (const std::string& text : *texts) fingerprint.add(text);
      }
    }
  }
  return fmt::format("{} sentences, {:016x}", task.train.sentences.size(), fingerprint.value());
}

}  // namespace

TaggerTask load_tagger_task(const TaggerOptions& options) {
  Corpus corpus =
      options.is_generated() ? generate_corpus(options) : read_corpus(with_files(options));
  TaggerTask task{
      corpus.score_name, Encoding(corpus.train, options.min_count), {}, {}, {}, {}, {}, {}};
  for (const nn::TaggedSentence& sentence : corpus.train) {
    task.train_labels.push_back(task.encoding.encode_labels(sentence.tags));
  }
  task.description = fmt::format(
      "{}: {} training, {} dev and {} test sentences; {} words, {} characters, {} labels",
      corpus.name, corpus.train.size(), corpus.dev.size(), corpus.test.size(),
      task.encoding.words().size(), task.encoding.characters().size(),
      task.encoding.labels().size());
  task.train = encoded(std::move(corpus.train), task.encoding);
  task.dev = encoded(std::move(corpus.dev), task.encoding);
  task.test = encoded(std::move(corpus.test), task.encoding);
  task.fingerprint = fingerprint_of(task);
  return task;
}

std::vector<std::uint32_t> sentence_sizes(const std::vector<EncodedSentence>& sentences) {
  std::vector<std::uint32_t> sizes;
  for (const EncodedSentence& sentence : sentences) {
    sizes.push_back(static_cast<std::uint32_t>(sentence.words.size()));
  }
  return sizes;
}

}  // namespace dynet_like::examples
