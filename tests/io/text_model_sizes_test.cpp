// Text models with sizes that are a byte more or less than what is there, in any of their headers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/io/text_model_file.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"

namespace dynet_like {
namespace {

class TextModelSizesTest : public FolderTest {
 protected:
  std::vector<TextModelEntry> random_entries(Random& random) const {
    std::vector<TextModelEntry> entries(1 + random.below(4));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      TextModelEntry& entry = entries[i];
      entry.is_table = random.below(2) == 0;
      entry.name = "/some_" + std::to_string(i);
      entry.dim = entry.is_table ? Dim({1 + random.below(5), 1 + random.below(5)})
                                 : Dim({1 + random.below(9)});
      for (unsigned k = 0; k < entry.dim.size(); ++k) {
        entry.values.push_back(static_cast<float>(random.normal()));
      }
      if (random.below(2) == 0) entry.gradient = entry.values;
    }
    return entries;
  }
  std::string written(const std::vector<TextModelEntry>& entries) const {
    TextModelWriter writer(path());
    for (const TextModelEntry& entry : entries) writer.write(entry);
    writer.commit();
    return contents();
  }
  /// Reads all entries, or passes over their numbers.
  std::vector<TextModelEntry> read(const std::string& text, bool skips) const {
    TextModelReader reader(write(text));
    std::vector<TextModelEntry> entries;
    while (reader.next()) {
      if (!skips) entries.push_back(reader.read());
    }
    return entries;
  }
};

/// Where the sizes in the headers are: the fourth fields of lines that begin with "#".
std::vector<std::pair<std::size_t, std::size_t>> places_of_sizes(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t line = 0; line != text.npos && line < text.size();) {
    if (text[line] == '#') {
      std::size_t begin = line;
      for (int field = 0; field < 3; ++field) begin = text.find(' ', begin) + 1;
      places.emplace_back(begin, text.find(' ', begin) - begin);
    }
    line = text.find('\n', line);
    if (line != text.npos) ++line;
  }
  return places;
}

TEST_F(TextModelSizesTest, MustBeThoseOfTheNumbers) {
  Random random(1);
  for (int round = 0; round < 8; ++round) {
    const std::vector<TextModelEntry> entries = random_entries(random);
    const std::string text = written(entries);
    const std::vector<TextModelEntry> found = read(text, false);
    ASSERT_EQ(found.size(), entries.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].values, entries[i].values);
      EXPECT_EQ(found[i].gradient, entries[i].gradient);
    }
    const auto places = places_of_sizes(text);
    ASSERT_EQ(places.size(), entries.size());
    for (const auto& [place, length] : places) {
      for (const int by : {-1, 1}) {
        const int size = std::stoi(text.substr(place, length)) + by;
        const std::string wrong = std::string(text).replace(place, length, std::to_string(size));
        EXPECT_THROW(read(wrong, false), FileError) << text << by;
        EXPECT_THROW(read(wrong, true), FileError) << text << by;
      }
    }
    // The last one says of itself that there is no more.
    const auto [place, length] = places.back();
    const std::string more = std::to_string(std::stoi(text.substr(place, length)) + 1);
    std::size_t line = 1;
    for (const char c : text.substr(0, place)) line += c == '\n';
    const std::string wrong = std::string(text).replace(place, length, more);
    for (const bool skips : {false, true}) {
      expect_file_error([&] { read(wrong, skips); }, line, 0, " in the rest of the file");
    }
  }
}

}  // namespace
}  // namespace dynet_like
