// What a run shows: learning curves as CSV, SVG and event files, read back by readers of their own,
// and the progress bar on a terminal.
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/xml_text.h"
#include "nn/train/event_file.h"
#include "nn/train/learning_curve.h"
#include "nn/train/progress_bar.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using CurveFileTest = FolderTest;

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

TEST_F(CurveFileTest, ReadsWhatItWrites) {
  const std::string csv = curve().to_csv();
  EXPECT_EQ(csv, "epoch,train loss,\"a \"\"b\"\", <c>\n&d\"\n1,2.5,\n2,0.1,0.75\n3,,\n");
  const LearningCurve again = LearningCurve::from_csv(csv, "x");
  EXPECT_EQ(again.to_csv(), csv);
  EXPECT_EQ(again.columns(), curve().columns());
  EXPECT_EQ(LearningCurve::from_csv("epoch\r\n1\r\n2\r\n", "x").epochs(), 2u);
  EXPECT_EQ(LearningCurve::from_csv(LearningCurve().to_csv(), "x").epochs(), 0u);
  curve().write_csv(path());
  EXPECT_EQ(contents(), csv);
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
    EXPECT_TRUE(mentions(text, part)) << part << " in " << text;
  }
  // Each from the bottom to the top of its plot, or the other way; one that stays the same in the
  // middle. Columns are in the order of their names.
  for (const char* path : {"M90.0 170.0 L252.5 144.0 L415.0 118.0 L577.5 92.0 L740.0 66.0\"",
                           "M90.0 216.0 L252.5 242.0 L415.0 268.0 L577.5 294.0 L740.0 320.0\"",
                           "M90.0 418.0 L252.5 418.0", "M90.0 516.0 L252.5 581.0 "}) {
    EXPECT_TRUE(mentions(svg, path)) << path << " in " << svg;
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
    EXPECT_FALSE(mentions(svg, "nan"));
    EXPECT_FALSE(mentions(svg, "inf"));
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

/// Numbers of a format that is little-endian, as this machine is.
template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

/// The length and an event, each with its checksum: rotated, plus a constant.
std::string record(const std::string& event) {
  std::string bytes;
  for (const std::string& part : {bytes_of(std::uint64_t{event.size()}), event}) {
    const std::uint32_t crc = crc32c(part);
    bytes += part + bytes_of((crc >> 15 | crc << 17) + 0xA282EAD8u);
  }
  return bytes;
}

// Events of protocol buffers, whose time is field 1 (kind 1), step 2 (kind 0), version 3 and
// summary 5 (kind 2). Lengths of 128 and more have two bytes.
TEST_F(CurveFileTest, EventsAreTheRecordsOfTensorBoard) {
  const std::string file = path();
  std::string expected;
  const auto expect = [&](const std::string& fields) {
    const std::string bytes = file_contents(file);
    ASSERT_GE(bytes.size(), expected.size() + 21);
    const std::string time = bytes.substr(expected.size() + 13, 8);
    double seconds = 0;
    std::memcpy(&seconds, time.data(), 8);
    EXPECT_NEAR(seconds, static_cast<double>(std::time(nullptr)), 1000);
    EXPECT_EQ(bytes, expected += record("\x09" + time + fields));
  };
  {
    EventFile events(file);
    expect(
        "\x1A\x0D"
        "brain.Event:2");
    events.add("loss/train", 1, 0.5f);
    expect(
        "\x10\x01\x2A\x13\x0A\x11\x0A\x0A"
        "loss/train\x15" +
        bytes_of(0.5f));  // at once
    events.add(std::string(300, 'x'), 1ull << 40, -3);
    expect("\x10\x80\x80\x80\x80\x80\x20\x2A\xB7\x02\x0A\xB4\x02\x0A\xAC\x02" +
           std::string(300, 'x') + '\x15' + bytes_of(-3.0f));
  }
  EventFile(file).add("dev", 300, INFINITY);
  expect(
      "\x10\xAC\x02\x2A\x0C\x0A\x0A\x0A\x03"
      "dev\x15" +
      bytes_of(INFINITY));
}

TEST(EventFileTest, NeedsAFileToWrite) {
  EXPECT_THROW(EventFile{"/nowhere/events"}, FileError);
  EXPECT_THROW(EventFile{::testing::TempDir()}, FileError);
}

// A terminal in place of standard error.
class ProgressBarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) {
      GTEST_SKIP() << "needs a pseudo terminal";
    }
    const int terminal = open(ptsname(master_), O_RDWR | O_NOCTTY);
    standard_error_ = dup(STDERR_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  void TearDown() override {
    if (standard_error_ >= 0) dup2(standard_error_, STDERR_FILENO);
    close(standard_error_);
    if (master_ >= 0) close(master_);
    std::clearerr(stderr);
  }

  int master_ = -1, standard_error_ = -1;
};

TEST_F(ProgressBarTest, IsDrawnOnATerminal) {
  {
    ProgressBar bar("epoch 1", 4, "words", 0, true);
    bar.advance(2, 0.5);
  }
  char text[200] = {};
  ASSERT_GT(read(master_, text, sizeof text - 1), 0);
  EXPECT_TRUE(mentions(std::string(text), "epoch 1 [==========>")) << text;
}

TEST_F(ProgressBarTest, DoesNotMindATerminalThatIsGone) {
  ProgressBar bar("epoch 1", 4, "words", 0, true);
  close(std::exchange(master_, -1));
  EXPECT_NO_THROW(bar.advance(2, 0.5));
  EXPECT_NE(std::ferror(stderr), 0) << "it was drawn";
}

}  // namespace
}  // namespace dynet_like::nn
