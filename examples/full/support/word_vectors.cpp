// Pretrained word vectors, in vocabularies and tables.
#include "examples/full/support/word_vectors.h"

#include <fmt/core.h>

#include "nn/data/word_vectors.h"

namespace dynet_like::examples {

void add_vector_options(OptionTable& table) {
  table.file("vectors",
             "initial word vectors: an .npz file, or text of word2vec or GloVe; --embedding is "
             "their size");
  table.real("vectors-rate", {0, 100}, "1",
             "learning rate of --vectors, as a factor; 0 keeps them unchanged");
  table.whole("more-words", {0, 1e8}, "100000",
              "also know the first N words that only --vectors has");
  table.flag("lower-case", "treat capitals as small letters");
  table.flag("digits", "treat all digits alike");
}

nn::WordNormalisation normalisation_of(const Options& options) {
  return {.lower_case = options.has("lower-case"), .digits = options.has("digits")};
}

nn::Vocabulary known_words(const nn::Vocabulary& counted, const Options& options) {
  const bool has_rare = !options.text("min-count").empty();
  nn::Vocabulary words = counted.trimmed(has_rare ? options.whole("min-count") : 1);
  if (options.has("vectors")) {
    nn::add_words_with_vectors(options.text("vectors"), words, options.whole("more-words"));
  }
  return words;
}

void load_vectors(const Options& options, const nn::Vocabulary& words, const nn::Embedding& table,
                  Trainer& trainer) {
  if (!options.has("vectors")) return;
  const std::string& file = options.text("vectors");
  const unsigned found = nn::read_word_vectors(file, words, table.table());
  fmt::print("{} of {} words have vectors in {}\n", found, words.size(), file);
  const float rate = options.real("vectors-rate");
  trainer.set_groups(
      {{.pattern = table.table().get_fullname(), .rate = rate, .frozen = rate == 0}});
}

}  // namespace dynet_like::examples
