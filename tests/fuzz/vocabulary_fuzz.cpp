// Fuzzes the reader of vocabularies: what it reads must be written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/checksum.h"
#include "nn/data/vocabulary.h"

namespace {

using dynet_like::nn::Vocabulary;
namespace detail = dynet_like::detail;

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
  // A file of it, which has a checksum.
  const std::string sum = detail::checksum_text(detail::checksum(written));
  const Vocabulary file =
      Vocabulary::from_text("\\checksum\tcrc32\t" + sum + "\n" + written, "file");
  require(file.to_text() == written);
}

void check_list(std::string_view text) {
  const Vocabulary list = Vocabulary::from_list(text, "fuzz");
  std::string lines = "\xEF\xBB\xBF";  // a first word that begins like a mark is text behind one
  for (std::uint32_t id = 0; id < list.size(); ++id) {
    require(!list.word(id).empty() && list.count(id) == 0 && list.id(list.word(id)) == id);
    lines += list.word(id) + "\r\n";  // a word may end in "\r"
  }
  require(Vocabulary::from_list(lines, "again").to_text() == list.to_text());
}

template <class Check>
void run(const Check& check) {
  try {
    check();
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  run([&] { check(text); });
  run([&] { check_list(text); });
  return 0;
}
