// Fuzzes the normal forms of words: they change no more, and what is not UTF-8 stays so.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet_like/core/text.h"
#include "nn/data/word_normalisation.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view word(reinterpret_cast<const char*>(data), size);
  for (const bool lower_case : {false, true}) {
    for (const bool digits : {false, true}) {
      const dynet_like::nn::WordNormalisation normalisation = {lower_case, digits};
      const std::string once = dynet_like::nn::normalised(word, normalisation);
      require(dynet_like::nn::normalised(once, normalisation) == once);
      require(dynet_like::detail::is_utf8(once) == dynet_like::detail::is_utf8(word));
      require(normalisation || once == word);
      require(once.empty() == word.empty() && once.size() <= 3 * word.size());
    }
  }
  return 0;
}
