// Learning curves as CSV, SVG and event files: read back by readers of their own.
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "nn/train/event_file.h"
#include "nn/train/learning_curve.h"
#include "dynet_like/core/xml_text.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

fs::path new_file(const char* name) {
  const fs::path file = fs::path(::testing::TempDir()) / ("train_curves_" + std::string(name));
  fs::remove(file);
  return file;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

LearningCurve curve() {
  LearningCurve curve;
  curve.add({{"train loss", 2.5}});
  curve.add({{"train loss", 0.1}, {"a \"b\", <c>\n&d", 0.75}});
  curve.add({{"a \"b\", <c>\n&d", std::nan("")}});
  return curve;
}

TEST(LearningCurveTest, IsATable) {
  const LearningCurve table = curve();
  EXPECT_EQ(table.epochs(), 3u);
  EXPECT_EQ(table.value("train loss", 2), 0.1);
  EXPECT_EQ(table.value("train loss", 3), std::nullopt);
  EXPECT_EQ(table.value("a \"b\", <c>\n&d", 1), std::nullopt);
  EXPECT_EQ(table.value("a \"b\", <c>\n&d", 3), std::nullopt);
  EXPECT_THROW(table.value("train loss", 4), UsageError);
  EXPECT_THROW(table.value("train loss", 0), UsageError);
  EXPECT_THROW(table.value("x", 1), UsageError);
  LearningCurve other;
  EXPECT_THROW(other.add({{"epoch", 1}}), UsageError);
  EXPECT_EQ(other.epochs(), 0u);
}

TEST(LearningCurveTest, ReadsWhatItWrites) {
  const std::string csv = curve().to_csv();
  EXPECT_EQ(csv, "epoch,train loss,\"a \"\"b\"\", <c>\n&d\"\n1,2.5,\n2,0.1,0.75\n3,,\n");
  const LearningCurve again = LearningCurve::from_csv(csv, "x");
  EXPECT_EQ(again.to_csv(), csv);
  EXPECT_EQ(again.columns(), curve().columns());
  EXPECT_EQ(LearningCurve::from_csv("epoch\r\n1\r\n2\r\n", "x").epochs(), 2u);
  EXPECT_EQ(LearningCurve::from_csv(LearningCurve().to_csv(), "x").epochs(), 0u);
  const fs::path file = new_file("table.csv");
  curve().write_csv(file);
  EXPECT_EQ(text_of(file), csv);
}

TEST(LearningCurveTest, RefusesWhatIsNoTable) {
  for (const char* bad : {"", "x\n", "epoch,a\n1\n", "epoch,a\n2,1\n", "epoch,a\n1,x\n",
                          "epoch,a\n1,nan\n", "epoch,a\n1,1e999\n", "epoch,a\n1,\"1\n",
                          "epoch,a\n1,\"1\"x\n", "epoch,a,a\n", "epoch,epoch\n", "epoch,a\n\n"}) {
    EXPECT_THROW(LearningCurve::from_csv(bad, "x"), FileError) << bad;
  }
  EXPECT_EQ(message_of<FileError>([] { LearningCurve::from_csv("epoch,a\n1,2\n2,b\n", "x.csv"); }),
            "x.csv:3: need a finite number or nothing; got \"b\"");
}

/// Checks that tags are balanced, and returns all text between them.
std::string text_in_tags(const std::string& svg) {
  std::vector<std::string> open;
  std::string text;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] != '<') {
      text += svg[at++];
      continue;
    }
    const std::size_t end = svg.find('>', at);
    EXPECT_NE(end, std::string::npos);
    if (end == std::string::npos) return text;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    if (tag.starts_with('/')) {
      EXPECT_FALSE(open.empty() || open.back() != tag.substr(1)) << tag;
      if (!open.empty()) open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
  return text;
}

TEST(SvgTest, HasAPlotForEachColumn) {
  LearningCurve curve;
  for (int epoch = 0; epoch < 5; ++epoch) {
    curve.add({{"train loss", 2.0 / (1 + epoch)},
               {"dev score", 0.5 + 0.1 * epoch},
               {"learning rate", 0.001 * (4 - epoch)},
               {"same", 7}});
  }
  const std::string svg = curve.to_svg("Trees & <leaves>"), text = text_in_tags(svg);
  for (const char* part :
       {"Trees &amp; &lt;leaves&gt;", "train loss", "dev score", "learning rate", "same", "epoch",
        "\n5\n", "\n0.5\n", "\n0.9\n", "\n2\n", "\n0.4\n", "\n0.004\n", "\n0\n", "\n7\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  // Each from the bottom to the top of its plot, or the other way; one that stays the same in the
  // middle. Columns are in the order of their names.
  for (const char* path : {"M90.0 170.0 L252.5 144.0 L415.0 118.0 L577.5 92.0 L740.0 66.0\"",
                           "M90.0 216.0 L252.5 242.0 L415.0 268.0 L577.5 294.0 L740.0 320.0\"",
                           "M90.0 418.0 L252.5 418.0", "M90.0 516.0 L252.5 581.0 "}) {
    EXPECT_NE(svg.find(path), std::string::npos) << path << " in " << svg;
  }
}

TEST(SvgTest, DrawsWhateverThereIs) {
  const double largest = std::numeric_limits<double>::max();
  std::vector<LearningCurve> curves(5);
  curves[1].add({});
  curves[2].add({{"a", 1}});
  for (const double value : {0.0, 0.0, 0.0}) curves[3].add({{"loss", value}});
  for (int i = 0; i < 1000; ++i) {
    curves[4].add({{"\x01\xFF]]>", i % 2 == 0 ? largest : -largest}, {"b", 1e-300 * i}});
  }
  curves.push_back(curve());
  for (const LearningCurve& curve : curves) {
    const std::string svg = curve.to_svg("\"'<>&");
    text_in_tags(svg);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
    EXPECT_LT(svg.size(), 100000u);
  }
}

TEST(XmlTest, LeavesNothingThatIsNoCharacter) {
  EXPECT_EQ(detail::xml_text("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  EXPECT_EQ(detail::xml_text("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(detail::xml_text(std::string_view("\0", 1)), replaced);
  EXPECT_EQ(detail::xml_text("\xC3"), replaced);
  EXPECT_EQ(detail::xml_text("\xC0\x80"), replaced + replaced);                 // too long a form
  EXPECT_EQ(detail::xml_text("\xED\xA0\x80"), replaced + replaced + replaced);  // half of a pair
  EXPECT_EQ(detail::xml_text("\xEF\xBF\xBF"), replaced + replaced + replaced);
}

// Known values: the check value of CRC-32C, and those of RFC 3720, B.4.
TEST(EventFileTest, Checksums) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
}

// What follows reads event files by itself, and knows the format only.
struct Scalar {
  std::string tag, version;
  std::uint64_t step = 0;
  float value = 0;
  double time = 0;
};

std::uint64_t varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
}

template <class Number>
Number fixed(const std::string& bytes, std::size_t at) {
  Number number;  // this test runs on little-endian machines
  std::memcpy(&number, bytes.substr(at).c_str(), sizeof(number));
  return number;
}

/// The fields of a message; their numbers make a path, and "/5" and "/5/1" are messages again.
void parse(const std::string& message, const std::string& path, Scalar& to) {
  for (std::size_t at = 0; at < message.size();) {
    const std::uint64_t tag = varint(message, at);
    const std::string field = path + '/' + std::to_string(tag >> 3);
    switch (tag & 7) {
      case 0:
        if (field == "/2") to.step = varint(message, at);
        break;
      case 1:
        if (field == "/1") to.time = fixed<double>(message, at);
        at += 8;
        break;
      case 5:
        if (field == "/5/1/2") to.value = fixed<float>(message, at);
        at += 4;
        break;
      case 2: {
        const std::uint64_t length = varint(message, at);
        const std::string bytes = message.substr(at, length);
        at += length;
        if (field == "/5" || field == "/5/1") parse(bytes, field, to);
        if (field == "/5/1/1") to.tag = bytes;
        if (field == "/3") to.version = bytes;
        break;
      }
      default:
        FAIL() << "wire type " << (tag & 7);
    }
  }
}

// The checksum of a record: rotated, plus a constant.
std::uint32_t masked(const std::string& bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::vector<Scalar> read_events(const fs::path& file) {
  const std::string bytes = text_of(file);
  std::vector<Scalar> events;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = fixed<std::uint64_t>(bytes, at);
    EXPECT_EQ(fixed<std::uint32_t>(bytes, at + 8), masked(bytes.substr(at, 8)));
    const std::string message = bytes.substr(at + 12, length);
    EXPECT_EQ(message.size(), length);
    EXPECT_EQ(fixed<std::uint32_t>(bytes, at + 12 + length), masked(message));
    parse(message, "", events.emplace_back());
    at += 16 + length;
    if (::testing::Test::HasFailure()) break;
  }
  return events;
}

TEST(EventFileTest, HasTheRecordsOfTensorBoard) {
  const fs::path file = new_file("events.out.tfevents.1");
  {
    EventFile events(file);
    events.add("loss/train", 1, 0.5f);
    events.add(std::string(300, 'x'), 1ull << 40, -3);
    EXPECT_EQ(read_events(file).size(), 3u);  // at once
  }
  EventFile(file).add("dev", 0, INFINITY);
  const std::vector<Scalar> events = read_events(file);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[1].tag, "loss/train");
  EXPECT_EQ(events[1].step, 1u);
  EXPECT_EQ(events[1].value, 0.5f);
  EXPECT_NEAR(events[1].time, static_cast<double>(std::time(nullptr)), 1000);
  EXPECT_EQ(events[2].tag, std::string(300, 'x'));
  EXPECT_EQ(events[2].step, 1ull << 40);
  EXPECT_EQ(events[2].value, -3.0f);
  EXPECT_EQ(events[3].tag, "dev");
  EXPECT_EQ(events[3].value, INFINITY);
}

TEST(EventFileTest, NeedsAFileToWrite) {
  EXPECT_THROW(EventFile{"/nowhere/events"}, FileError);
  EXPECT_THROW(EventFile{::testing::TempDir()}, FileError);
}

}  // namespace
}  // namespace dynet_like::nn
