// Fuzzes the reader of vocabularies: what it reads must be written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet_like/core/errors.h"
#include "nn/data/vocabulary.h"

namespace {

using dynet_like::nn::Vocabulary;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view text) {
  const Vocabulary read = Vocabulary::from_text(text, "fuzz");
  const std::string written = read.to_text();
  const Vocabulary again = Vocabulary::from_text(written, "again");
  require(again.size() == read.size() && again.unknown() == read.unknown());
  require(again.normalisation() == read.normalisation());
  for (std::uint32_t id = 0; id < read.size(); ++id) {
    require(again.word(id) == read.word(id) && again.count(id) == read.count(id));
    require(read.id(read.word(id)) == id);
  }
  require(again.to_text() == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check({reinterpret_cast<const char*>(data), size});
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}
