// Zip archives of several members, with comments, extra fields and members in any order: what other
// programs write, and what is damaged anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/random.h"
#include "dynet_like/io/checksum.h"
#include "dynet_like/io/zip.h"
#include "tests/support/file_errors.h"

namespace dynet_like::detail::zip {
namespace {

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (; bytes > 0; --bytes, number >>= 8) text += static_cast<char>(number);
  return text;
}

std::uint32_t crc_of(std::string_view text) { return checksum(text); }

/// A member, and what its two headers have besides.
struct Part {
  std::string name, content, local_extra = {}, extra = {}, comment = {};
  bool deflated = false;

  /// One block that is not compressed, and is the last one.
  std::string packed() const {
    return deflated ? "\1" + little_endian(content.size(), 2) +
                          little_endian(content.size() ^ 0xffff, 2) + content
                    : content;
  }
  /// Version, flags, method, time, date, checksum, sizes, and the length of the name.
  std::string common() const {
    return little_endian(20, 2) + little_endian(0, 2) + little_endian(deflated ? 8 : 0, 2) +
           little_endian(0, 4) + little_endian(crc_of(content), 4) +
           little_endian(packed().size(), 4) + little_endian(content.size(), 4) +
           little_endian(name.size(), 2);
  }
};

/// An archive as text, and where its parts begin.
struct Archive {
  std::string text;
  std::vector<Part> parts;
  std::vector<std::size_t> locals, entries;  ///< headers of the parts
  std::size_t directory = 0, end = 0;

  /// The directory has the parts in this order.
  Archive(std::vector<Part> all, const std::vector<std::size_t>& order, const std::string& comment)
      : parts(std::move(all)), locals(parts.size()), entries(parts.size()) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      locals[i] = text.size();
      text += "PK\3\4" + parts[i].common() + little_endian(parts[i].local_extra.size(), 2) +
              parts[i].name + parts[i].local_extra + parts[i].packed();
    }
    directory = text.size();
    for (const std::size_t i : order) {
      entries[i] = text.size();
      text += "PK\1\2" + little_endian(20, 2) + parts[i].common() +
              little_endian(parts[i].extra.size(), 2) + little_endian(parts[i].comment.size(), 2) +
              little_endian(0, 8) + little_endian(locals[i], 4) + parts[i].name + parts[i].extra +
              parts[i].comment;
    }
    end = text.size();
    text += "PK\5\6" + little_endian(0, 4) + little_endian(parts.size(), 2) +
            little_endian(parts.size(), 2) + little_endian(end - directory, 4) +
            little_endian(directory, 4) + little_endian(comment.size(), 2) + comment;
  }
  std::size_t last_entry() const { return *std::ranges::max_element(entries); }
};

std::string random_text(Random& random, std::uint32_t most) {
  std::string text(random.below(most + 1), '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

/// Fields of a number that nobody knows.
std::string random_extra(Random& random) {
  std::string extra;
  for (std::uint32_t fields = random.below(3); fields > 0; --fields) {
    const std::string field = random_text(random, 9);
    extra += little_endian(0x7075, 2) + little_endian(field.size(), 2) + field;
  }
  return extra;
}

Archive random_archive(Random& random, std::size_t fewest = 0) {
  std::vector<Part> parts(fewest + random.below(5));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {.name = std::to_string(i) + random_text(random, 12),
                .content = random_text(random, random.below(3) * 40),
                .local_extra = random_extra(random),
                .extra = random_extra(random),
                .comment = random_text(random, random.below(2) * 20),
                .deflated = random.below(2) == 0};
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }
  // A comment may look like the record before it.
  const std::string comment = random.below(3) == 0 ? "PK\5\6" + random_text(random, 60)
                                                   : random_text(random, random.below(2) * 60);
  return {std::move(parts), order, comment};
}

/// All that there is, with its checksum; what is not in order is thrown.
std::vector<Part> read(const std::string& text) {
  std::vector<Part> parts;
  // Memory of just this size, so that a sanitizer sees what is read behind it.
  const auto bytes = std::as_bytes(std::span(text));
  const std::vector<std::byte> copy(bytes.begin(), bytes.end());
  for (const Member& member : members(copy, "some.zip", 1 << 20)) {
    std::vector<std::byte> inflated;
    if (member.deflated) inflated = inflate(member, "some.zip");
    const std::span<const std::byte> content = member.deflated ? inflated : member.bytes;
    check(member, content, "some.zip");
    const auto* begin = reinterpret_cast<const char*>(content.data());
    parts.push_back({.name = member.name, .content = {begin, begin + content.size()}});
  }
  return parts;
}

void expect_refused(const std::string& text, const std::string& part) {
  expect_file_error([&] { read(text); }, 0, 0, part);
}

std::string with_number(std::string text, std::size_t place, std::size_t bytes,
                        std::uint64_t number) {
  return text.replace(place, bytes, little_endian(number, bytes));
}

/// The text with `by` added to a number of some bytes.
std::string with_more(const std::string& text, std::size_t place, std::size_t bytes, int by) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(text[place + i]);
  }
  return with_number(text, place, bytes, number + static_cast<std::uint64_t>(by));
}

TEST(ZipArchivesTest, AreRead) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Archive archive = random_archive(random);
    const std::vector<Part> found = read(archive.text);
    ASSERT_EQ(found.size(), archive.parts.size());
    for (std::size_t i = 0; i < found.size(); ++i) {  // in the order of their bytes
      EXPECT_EQ(found[i].name, archive.parts[i].name);
      EXPECT_EQ(found[i].content, archive.parts[i].content);
    }
  }
}

// Lengths in the directory, of names, extra fields and comments.
TEST(ZipArchivesTest, LengthsInTheDirectoryThatLie) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    const Archive archive = random_archive(random, 1);
    for (const std::size_t entry : archive.entries) {
      for (const std::size_t place : {28u, 30u, 32u}) {
        SCOPED_TRACE("byte " + std::to_string(entry + place));
        expect_refused(with_number(archive.text, entry + place, 2, 0xffff),
                       "need a directory with all that it has of its members");
        for (const int by : {-1, 1}) {
          EXPECT_THROW(read(with_more(archive.text, entry + place, 2, by)), FileError) << by;
        }
      }
    }
    for (const std::size_t place : {28u, 30u, 32u}) {  // it has no byte more
      expect_refused(with_more(archive.text, archive.last_entry() + place, 2, 1),
                     "need a directory with all that it has of its members");
    }
  }
}

TEST(ZipArchivesTest, PlacesAndSizesThatLie) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const Archive archive = random_archive(random, 1);
    const std::string& text = archive.text;
    for (std::size_t i = 0; i < archive.parts.size(); ++i) {
      SCOPED_TRACE("round " + std::to_string(round) + ", member " + std::to_string(i));
      const std::size_t entry = archive.entries[i], local = archive.locals[i];
      for (const int by : {-1, 1}) {
        EXPECT_THROW(read(with_more(text, entry + 20, 4, by)), FileError) << "packed " << by;
        EXPECT_THROW(read(with_more(text, entry + 24, 4, by)), FileError) << "size " << by;
        EXPECT_THROW(read(with_more(text, entry + 42, 4, by)), FileError) << "begin " << by;
        EXPECT_THROW(read(with_more(text, entry + 16, 4, by)), FileError) << "checksum " << by;
      }
      expect_refused(with_number(text, entry + 42, 4, archive.directory), "between bytes");
      // The header before the bytes.
      expect_refused(with_number(text, local + 26, 2, 0xffff), "where the directory says");
      expect_refused(with_number(text, local + 28, 2, 0xffff), "where the directory says");
      EXPECT_THROW(read(with_more(text, local + 26, 2, 1)), FileError);
      // All bytes are used: a longer field would take some of the next member or the directory.
      EXPECT_THROW(read(with_more(text, local + 28, 2, 1)), FileError);
    }
  }
}

TEST(ZipArchivesTest, EndsThatLie) {
  Random random(4);
  const std::string none = "need a zip archive with a directory at its end";
  for (int round = 0; round < 100; ++round) {
    const Archive archive = random_archive(random, 1);
    const std::string& text = archive.text;
    for (const int by : {-1, 1}) {
      expect_refused(with_more(text, archive.end + 20, 2, by), none);
      EXPECT_THROW(read(with_more(text, archive.end + 8, 2, by)), FileError);
      EXPECT_THROW(read(with_more(text, archive.end + 10, 2, by)), FileError);
      EXPECT_THROW(read(with_more(text, archive.end + 12, 4, by)), FileError);
      EXPECT_THROW(read(with_more(text, archive.end + 16, 4, by)), FileError);
    }
    expect_refused(text.substr(0, text.size() - 1), none);
    expect_refused(text + "x", none);
    expect_refused(std::string(text).insert(archive.end, "x"), "need a directory that ends at");
  }
}

TEST(ZipArchivesTest, NoMemberTwice) {
  const std::vector<Part> parts = {{.name = "a", .content = "1"}, {.name = "b", .content = "2"}};
  const Archive archive(parts, {0, 1}, "");
  std::string text = archive.text;
  text.replace(archive.entries[1], archive.end - archive.entries[1], text, archive.entries[0],
               archive.entries[1] - archive.entries[0]);
  expect_refused(text, "need unique names; got \"a\" twice");
  // The same bytes for both, under a name of their own.
  expect_refused(with_number(archive.text, archive.entries[1] + 42, 4, 0), "between bytes");
}

// A limit is for all members together, and counts what is inflated alone.
TEST(ZipArchivesTest, NoMoreThanTheLimitIsInflated) {
  const std::vector<Part> parts = {
      {.name = "a", .content = std::string(50, 'x'), .deflated = true},
      {.name = "b", .content = std::string(999, 'x')},
      {.name = "c", .content = std::string(70, 'x'), .deflated = true}};
  const std::string text = Archive(parts, {2, 0, 1}, "comment").text;
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(members(bytes, "some.zip", 120).size(), 3u);
  for (const std::uint64_t limit : {119u, 70u, 69u, 0u}) {
    expect_file_error([&] { members(bytes, "some.zip", limit); }, 0, 0,
                      "bytes when all is inflated");
  }
}

TEST(ZipArchivesTest, DamageIsAnErrorOrHarmless) {
  Random random(5);
  for (int round = 0; round < 6000; ++round) {
    const Archive archive = random_archive(random, 2);
    std::string damaged = archive.text;
    for (std::uint32_t k = random.below(3) + 1; k > 0; --k) {
      // Mostly the numbers of a header.
      const auto i = random.below(static_cast<std::uint32_t>(archive.parts.size()));
      const std::array starts = {archive.entries[i], archive.entries[i] + 20, archive.locals[i],
                                 archive.end, std::size_t{0}};
      const std::uint32_t start = random.below(5);
      const auto length = start < 4 ? 28 : static_cast<std::uint32_t>(damaged.size());
      const std::size_t place = std::min(starts[start] + random.below(length), damaged.size() - 1);
      damaged[place] = static_cast<char>(random.below(2) == 0 ? 255 : random.below(256));
    }
    try {
      read(damaged);
    } catch (const FileError&) {  // what else is thrown fails the test
    }
  }
}

}  // namespace
}  // namespace dynet_like::detail::zip
