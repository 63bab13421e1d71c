// Fuzzes the reader of vocabularies: what it reads must be written and read again as the same.
#include <string>
#include <string_view>

#include "dynet_like/io/checksum.h"
#include "nn/data/vocabulary.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using nn::Vocabulary;

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

}  // namespace

void run(const std::string& input) {
  may_refuse([&] { check(input); });
  may_refuse([&] { check_list(input); });
}

}  // namespace dynet_like::fuzz
