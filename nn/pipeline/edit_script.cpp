// Edit scripts: "CASE FRONT BACK BYTES TEXT". FRONT and BACK are the characters to cut off, TEXT
// has BYTES bytes for the front, and the rest for the back. CASE is "small", "first", "all", or the
// numbers of the capital letters with a comma behind each. "=LEMMA" is a lemma as it is.
#include "nn/pipeline/edit_script.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

#include "nn/data/text.h"
#include "nn/data/word_normalisation.h"

namespace dynet_like::nn {

namespace {

using Characters = std::vector<std::string>;

Characters characters_of(std::string_view text) { return split_line(text, TextUnit::character); }
std::string lower(std::string_view text) { return normalised(text, {.lower_case = true}); }

std::string join(const Characters& all, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end; ++i) text += all[i];
  return text;
}

/// The longest run of characters that two texts share, of equal ones the first.
struct Common {
  std::size_t in_word = 0, in_lemma = 0, size = 0;
};

Common longest_common_run(const Characters& word, const Characters& lemma) {
  Common best;
  std::vector<std::size_t> sizes(lemma.size() + 1, 0);  // of the runs that end at a pair
  for (std::size_t i = 0; i < word.size(); ++i) {
    for (std::size_t k = lemma.size(); k-- > 0;) {
      sizes[k + 1] = word[i] == lemma[k] ? sizes[k] + 1 : 0;
      if (sizes[k + 1] > best.size) {
        best = {i + 1 - sizes[k + 1], k + 1 - sizes[k + 1], sizes[k + 1]};
      }
    }
  }
  return best;
}

std::string case_of(std::string_view lemma) {
  const Characters all = characters_of(lemma), in_small = characters_of(lower(lemma));
  std::string places;
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= in_small.size() || all[i] == in_small[i]) continue;
    places += std::to_string(i) + ',';
    ++count;
  }
  if (count == 0) return "small";
  if (places == "0,") return "first";
  return capitalised(lemma) == lemma ? "all" : places;
}

/// Reads a number up to a separator, and takes both away.
std::optional<std::size_t> take_number(std::string_view& text, char separator) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || size == text.size() || *end != separator) return {};
  text.remove_prefix(size + 1);
  return number;
}

std::optional<std::string> with_case(const std::string& lemma, std::string_view letters) {
  if (letters == "small") return lemma;
  if (letters == "all") return capitalised(lemma);
  Characters all = characters_of(lemma);
  if (letters == "first") letters = "0,";
  while (!letters.empty()) {
    const auto place = take_number(letters, ',');
    if (!place) return {};
    if (*place < all.size()) all[*place] = capitalised(all[*place]);
  }
  return join(all, 0, all.size());
}

std::optional<std::string> applied(std::string_view script, std::string_view word) {
  if (script.starts_with('=')) return std::string(script.substr(1));
  const std::string_view letters = script.substr(0, script.find(' '));
  if (letters.size() == script.size()) return {};
  script.remove_prefix(letters.size() + 1);
  const auto front = take_number(script, ' '), back = take_number(script, ' '),
             bytes = take_number(script, ' ');
  const Characters all = characters_of(lower(word));
  if (!front || !back || !bytes || *bytes > script.size()) return {};
  if (*front > all.size() || *back > all.size() - *front) return {};
  const std::string middle = join(all, *front, all.size() - *back);
  return with_case(
      std::string(script.substr(0, *bytes)) + middle + std::string(script.substr(*bytes)), letters);
}

}  // namespace

std::string edit_script(std::string_view word, std::string_view lemma) {
  const Characters from = characters_of(lower(word)), to = characters_of(lower(lemma));
  const auto [in_word, in_lemma, size] = longest_common_run(from, to);
  if (size > 0) {
    const std::string front = join(to, 0, in_lemma), back = join(to, in_lemma + size, to.size());
    const std::string script = case_of(lemma) + ' ' + std::to_string(in_word) + ' ' +
                               std::to_string(from.size() - in_word - size) + ' ' +
                               std::to_string(front.size()) + ' ' + front + back;
    if (applied(script, word) == lemma) return script;
  }
  return '=' + std::string(lemma);
}

std::string apply_edit_script(std::string_view script, std::string_view word) {
  const std::optional<std::string> lemma = applied(script, word);
  return lemma && !lemma->empty() ? *lemma : std::string(word);
}

}  // namespace dynet_like::nn
