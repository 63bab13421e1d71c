// Fuzzes the normal forms of words: they change no more, and what is not UTF-8 stays so.
#include <string>

#include "dynet_like/core/text.h"
#include "nn/data/word_normalisation.h"
#include "tests/fuzz/fuzz.h"

void dynet_like::fuzz::run(const std::string& word) {
  for (const bool lower_case : {false, true}) {
    for (const bool digits : {false, true}) {
      const nn::WordNormalisation normalisation = {lower_case, digits};
      const std::string once = nn::normalised(word, normalisation);
      require(nn::normalised(once, normalisation) == once);
      require(detail::is_utf8(once) == detail::is_utf8(word));
      require(normalisation || once == word);
      require(once.empty() == word.empty() && once.size() <= 3 * word.size());
    }
  }
}
