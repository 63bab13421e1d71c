// DyNet's text model files: what is read and written, byte for byte, keys, and what is refused.
#include <cstdio>

#include "dynet_like/io/text_model_file.h"
#include "tests/io/small_model.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

// Two objects as DyNet writes them; 2 * 16 + 1 and 2 * (6 * 16 + 1) bytes of numbers.
const char kVector[] =
    "#Parameter# /lstm-builder/_0 {2} 33 ZERO_GRAD\n"
    "+1.23456791e-01 -2.00000000e+00 \n";
const char kTable[] =
    "#LookupParameter# /words {3,2} 194 FULL_GRAD\n"
    "+1.00000000e+00 +2.00000000e+00 +3.00000000e+00 "
    "+4.00000000e+00 +5.00000000e+00 +6.00000000e+00 \n"
    "+0.00000000e+00 -0.00000000e+00 +1.17549435e-38 "
    "+3.40282347e+38 -1.40129846e-45 +9.99999975e-05 \n";

std::vector<std::uint32_t> bits_of(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TextModelReader reader_of(const std::string& text) {
  return {std::make_unique<std::istringstream>(text), "text"};
}

using TextModelTest = FolderTest;

TEST_F(TextModelTest, ReadsWhatDyNetWrites) {
  TextModelReader reader(write(std::string(kVector) + kTable));
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 1u);
  EXPECT_FALSE(reader.header().has_gradient);
  const TextModelEntry vector = reader.read();
  EXPECT_FALSE(vector.is_table);
  EXPECT_EQ(vector.name, "/lstm-builder/_0");
  EXPECT_EQ(vector.dim, Dim({2}));
  EXPECT_EQ(vector.values, (Floats{0.12345679f, -2}));
  EXPECT_TRUE(vector.gradient.empty());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 3u);
  const TextModelEntry table = reader.read();
  EXPECT_TRUE(table.is_table);
  EXPECT_EQ(table.dim, Dim({3, 2}));
  EXPECT_EQ(table.values, (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(bits_of(table.gradient),
            bits_of({0, -0.0f, 0x1p-126f, 0x1.fffffep127f, -0x1p-149f, 1e-4f}));
  EXPECT_THROW(reader.read(), UsageError);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.line(), 6u);
}

TEST_F(TextModelTest, SkipsAByteOrderMark) {
  TextModelReader reader(write("\xEF\xBB\xBF" + std::string(kVector) + kTable));
  while (reader.next()) EXPECT_EQ(reader.read().values.size(), reader.header().dim.size());
  EXPECT_EQ(reader.line(), 6u);
  const std::string message = message_of<FileError>([] { reader_of("\xFF\xFE#"); });
  EXPECT_NE(message.find("the byte order mark of UTF-16"), std::string::npos) << message;
}

TEST_F(TextModelTest, WritesTheSameBytes) {
  TextModelReader reader(write(std::string(kVector) + kTable));
  TextModelWriter writer(path("copy"));
  while (reader.next()) writer.write(reader.read());
  EXPECT_FALSE(fs::exists(path("copy"))) << "before commit";
  writer.commit();
  EXPECT_EQ(contents("copy"), contents());
}

TEST_F(TextModelTest, SkipsNumbersUnread) {
  // Numbers that are none, some of which end within the reader's block, some far behind it.
  const std::string large(1'000'000, 'x');
  TextModelReader reader(
      write("#Parameter# /a {3} 7 ZERO_GRAD\nxxxxxx\n"
            "#Parameter# /b {3} 1000001 ZERO_GRAD\n" +
            large + "\n" + kVector));
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.header().name, "/b");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 5u);
  EXPECT_EQ(reader.read().values[1], -2.0f);
  EXPECT_FALSE(reader.next());
}

TEST_F(TextModelTest, EveryFloatComesBack) {
  using Limits = std::numeric_limits<float>;
  Floats values = {0,
                   Limits::max(),
                   Limits::min(),
                   Limits::denorm_min(),
                   Limits::infinity(),
                   Limits::quiet_NaN(),
                   0.1f};
  for (const float value : Floats(values)) values.push_back(-value);
  Random random(1);
  while (values.size() < 300'000) {
    const auto value = std::bit_cast<float>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  const auto size = static_cast<unsigned>(values.size());
  TextModelWriter writer(path());
  writer.write({false, "/all", Dim({size}), values, values});
  writer.commit();
  TextModelReader reader(path());
  ASSERT_TRUE(reader.next());
  const TextModelEntry entry = reader.read();
  EXPECT_EQ(bits_of(entry.values), bits_of(values));
  EXPECT_EQ(bits_of(entry.gradient), bits_of(values));
  EXPECT_FALSE(reader.next());
  // The C library writes the same characters.
  const std::string text = contents();
  std::size_t place = text.find('\n') + 1;
  for (const float value : values) {
    char expected[32];
    const int length =
        std::snprintf(expected, sizeof expected, "%+.8e ", static_cast<double>(value));
    ASSERT_EQ(text.substr(place, static_cast<std::size_t>(length)), expected);
    place += static_cast<std::size_t>(length);
  }
}

TEST(TextModelReader, ReadsNumbersThatOthersWrite) {
  TextModelReader reader = reader_of(
      "#Parameter# /W {2,5} 69 ZERO_GRAD\n"
      "1 -2 3.5 +4e-003 +5.00000000e+000 nan -NaN +inf -Infinity 1e-0000050\n");
  ASSERT_TRUE(reader.next());
  const Floats values = reader.read().values;
  EXPECT_EQ((Floats{values.begin(), values.begin() + 5}), (Floats{1, -2, 3.5f, 4e-3f, 5}));
  EXPECT_TRUE(std::isnan(values[5]) && std::isnan(values[6]));
  EXPECT_EQ(values[7], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[8], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[9], 0.0f) << "smaller than any float";
  EXPECT_FALSE(reader.next());
}

// Reads everything; the message of what is refused must have the line and this part.
void expect_refusal(const std::string& text, std::size_t line, const std::string& part) {
  const auto read_all = [&] {
    TextModelReader reader = reader_of(text);
    while (reader.next()) reader.read();
  };
  expect_file_error(read_all, line, {}, part);
}

std::string object(const std::string& header, const std::string& numbers = "1 2 \n") {
  return kVector + header + "\n" + numbers;  // the header is line 3
}

TEST(TextModelReader, RefusesMalformedHeaders) {
  expect_refusal(object("garbage"), 3, "\"garbage\"");
  expect_refusal(object(""), 3, "#Parameter#");
  expect_refusal(object("#parameter# /a {2} 5 ZERO_GRAD"), 3, "#Parameter#");
  expect_refusal(object("#Parameter# /a {2} 5"), 3, "#Parameter#");
  expect_refusal(object("#Parameter# /a {2} 5 ZERO_GRAD "), 3, "#Parameter#");
  expect_refusal(object("#Parameter#  {2} 5 ZERO_GRAD"), 3, "a name");
  expect_refusal(object("#Parameter# /\ta {2} 5 ZERO_GRAD"), 3, "\\x09");
  expect_refusal(object("#Parameter# /a {2} 5 ZERO_GRAD\r"), 3, "\\x0D");
  expect_refusal(object("#Parameter# /a {2} 5 zero_grad"), 3, "\"zero_grad\"");
  expect_refusal(std::string("#Parameter# /a {2} 5 ZERO_GRAD\0\n1 2 \n", 36), 1, "\\x00");
  expect_refusal("#Parameter# /a {2} 5 ZERO_GRAD", 1, "header line");
  expect_refusal(object("#Parameter# /" + std::string(5000, 'a') + " {2} 5 ZERO_GRAD"), 3, "4096");
  expect_refusal(std::string(1000, '\0'), 1, "header line");
}

TEST(TextModelReader, RefusesShapesThatNoParameterHas) {
  std::istringstream dims(
      "{} {0} {2,0} {2X3} {2,1X1} {-2} {+2} {2 2} 2 {2}} {a} {2,} {,2} {2;1} {4294967298} "
      "{65536,65536} {2147483648} {4294967296,4294967296} {1,1,1,1,1,1,1,2} "
      "{99999999999999999999}");
  for (std::string dim; dims >> dim;) {
    expect_refusal(object("#Parameter# /a " + dim + " 5 ZERO_GRAD"), 3, dim);
  }
}

TEST(TextModelReader, RefusesSizesThatDoNotFit) {
  for (const char* size : {"0", "3", "6", "-5", "+5", "5.0", "x", "18446744073709551616",
                           "18446744073709551615", "9223372036854775807"}) {
    expect_refusal(object(std::string("#Parameter# /a {2} ") + size + " ZERO_GRAD"), 3, size);
  }
  // The shape would take gigabytes: refused before memory is.
  expect_refusal(object("#Parameter# /a {2147483647} 5 ZERO_GRAD"), 3, "4294967294");
  expect_refusal(object("#Parameter# /a {2} 5 FULL_GRAD"), 3, "8 to 5 bytes");
  expect_refusal(object("#Parameter# /a {2} 4 ZERO_GRAD"), 3, "need 5 bytes");
  expect_refusal(object("#Parameter# /a {2} 6 ZERO_GRAD", "1 2 \n\n"), 3, "need 5 bytes");
}

TEST(TextModelReader, RefusesNumbersThatDoNotFit) {
  const std::string header = "#Parameter# /a {2} 9 ZERO_GRAD";
  expect_refusal(object(header, "1 2 3 45\n"), 4, "the end of the line after 2 numbers");
  expect_refusal(object(header, "1 2  567\n"), 4, "the end of the line after 2 numbers");
  expect_refusal(object(header, "12345678\n"), 4, "\"\" as number 2");
  expect_refusal(object(header, "123456 \n\n"), 4, "\"\" as number 2");
  expect_refusal(object(header, "\n1 234567"), 4, "\"\" as number 1");
  expect_refusal(object(header, "123   45\n"), 4, "\"\" as number 2");
  expect_refusal(object(header, "123 4567x"), 4, "\"4567x\" as number 2");
  expect_refusal(object(header, "12 0x123\n"), 4, "\"0x123\" as number 2");
  expect_refusal(object(header, "12 +-123\n"), 4, "\"+-123\" as number 2");
  expect_refusal(object(header, "123 1e39\n"), 4, "\"1e39\" as number 2");
  expect_refusal(object(header, "123\t4567\n"), 4, "\\x09");
  expect_refusal(object(header, "123 456\r\n"), 4, "\\x0D");
  expect_refusal(object(header, std::string("123 4\0"
                                            "67\n",
                                            9)),
                 4, "\\x00");
  expect_refusal(object("#Parameter# /a {2} 103 ZERO_GRAD", "1 2" + std::string(99, '0') + "\n"), 4,
                 "as number 2");
  expect_refusal(object("#Parameter# /a {2} 9 FULL_GRAD", "1 2 \n1 x\n"), 5, "\"x\" as number 2");
  expect_refusal(object("#Parameter# /a {2} 8 FULL_GRAD", "12 3456\n"), 5, "\"\" as number 1");
  expect_refusal(object("#Parameter# /a {2} 5 ZERO_GRAD", "1 2 \n1 2 \n"), 5, "#Parameter#");
  expect_refusal(object("#Parameter# /a {2} 5 ZERO_GRAD", "1 2 \n") + "x", 5, "\"x\"");
  expect_refusal(object("#Parameter# /a {2} 3 ZERO_GRAD", "1 2"), 3, "4 to 3 bytes");
  expect_refusal(object("#Parameter# /a {2} 4 ZERO_GRAD", "1 22"), 4, "\"22\" as number 2");
}

TEST(TextModelReader, SaysWhereInTheLine) {
  TextModelReader reader = reader_of("#Parameter# /a {3} 7 ZERO_GRAD\n10 2 x\n");
  reader.next();
  EXPECT_NE(message_of<FileError>([&] { reader.read(); }).find("text:2:6: "), std::string::npos);
}

// A byte more or less than what is there, in any header, whether its numbers are read or skipped.
TEST(TextModelReader, NoticesSizesThatAreOneByteOff) {
  const std::string text = std::string(kVector) + kTable + kVector;
  const auto pass = [](const std::string& of, bool skips) {
    for (TextModelReader reader = reader_of(of); reader.next();) {
      if (!skips) reader.read();
    }
  };
  for (const bool skips : {false, true}) {
    for (const auto& [place, size] :
         {std::pair(text.find(" 33 "), 33), {text.find(" 194 "), 194}, {text.rfind(" 33 "), 33}}) {
      for (const int by : {-1, 1}) {
        std::string wrong = text;
        wrong.replace(place + 1, std::to_string(size).size(), std::to_string(size + by));
        EXPECT_THROW(pass(wrong, skips), FileError) << wrong;
        if (by < 0 || place < text.find(kTable)) continue;
        const std::size_t line = size == 194 ? 3 : 6;
        if (line == 6) {
          expect_file_error([&] { pass(wrong, skips); }, line, 0, " in the rest of the file");
        }
      }
    }
  }
}

TEST_F(TextModelTest, RefusesWhatIsNoFile) {
  EXPECT_NE(message_of<FileError>([&] { TextModelReader(path("none")); }).find("No such file"),
            std::string::npos);
  EXPECT_THROW(TextModelReader(path("")), FileError);
  EXPECT_THROW(TextModelReader("/dev/null"), FileError);
  EXPECT_THROW(TextModelWriter(path("no/folder")), FileError);
  EXPECT_THROW(TextModelWriter("/dev/null", true), FileError);
  TextModelReader empty(write(""));
  EXPECT_FALSE(empty.next());
}

TEST_F(TextModelTest, RefusesToWriteWhatCouldNotBeRead) {
  TextModelWriter writer(path());
  for (const char* name : {"", "a b", "a\n", "\t"}) {
    EXPECT_THROW(writer.write({false, name, Dim({1}), {1}, {}}), UsageError) << name;
  }
  EXPECT_THROW(writer.write({false, std::string(5000, 'a'), Dim({1}), {1}, {}}), UsageError);
  EXPECT_THROW(writer.write({false, "a", Dim({1}, 2), {1, 2}, {}}), UsageError);
  EXPECT_THROW(writer.write({false, "a", Dim(), {1}, {}}), UsageError);
  EXPECT_THROW(writer.write({false, "a", Dim({0}), {}, {}}), UsageError);
  EXPECT_THROW(writer.write({false, "a", Dim({2}), {1}, {}}), ShapeError);
  EXPECT_THROW(writer.write({false, "a", Dim({2}), {1, 2}, {1}}), ShapeError);
  writer.commit();
  EXPECT_EQ(contents(), "");
}

TEST_F(TextModelTest, AppendsOrLeavesTheOldFile) {
  write(kVector);
  {
    TextModelWriter writer(path(), true);
    writer.write({false, "/new", Dim({1}), {1}, {}});
    EXPECT_EQ(contents(), kVector);
  }
  EXPECT_EQ(contents(), kVector) << "without commit";
  EXPECT_EQ(files(), 1);
  TextModelWriter writer(path(), true);
  writer.write({false, "/new", Dim({1}), {1}, {}});
  writer.commit();
  EXPECT_EQ(contents(),
            kVector + std::string("#Parameter# /new {1} 17 ZERO_GRAD\n+1.00000000e+00 \n"));
  TextModelWriter fresh(path("fresh"), true);
  fresh.write({false, "/new", Dim({1}), {1}, {}});
  fresh.commit();
  EXPECT_TRUE(fs::exists(path("fresh")));
  // A file of many blocks comes over whole.
  TextModelWriter large(path());
  large.write({false, "/large", Dim({100'000}), Floats(100'000, 0.5f), {}});
  large.commit();
  const std::string before = contents();
  TextModelWriter(path(), true).commit();
  EXPECT_EQ(contents(), before);
  write("no model");
  EXPECT_THROW(TextModelWriter(path(), true), FileError);
}

TEST_F(TextModelTest, CollectionsComeBack) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const SmallModel saved(1, dtype), loaded(2, dtype);
    save_text_model(path(), saved.all);
    const std::uint64_t version = loaded.matrix.get_storage().values.version();
    load_text_model(path(), loaded.all);
    EXPECT_EQ(values_of(loaded.all), values_of(saved.all));
    EXPECT_GT(loaded.matrix.get_storage().values.version(), version);
  }
}

TEST_F(TextModelTest, CollectionsAreWrittenInDyNetsOrder) {
  save_text_model(path(), SmallModel(1).all);
  TextModelReader reader(path());
  std::string names;
  while (reader.next()) names += reader.header().name + to_string(reader.header().dim) + " ";
  EXPECT_EQ(names, "/W{2,3} /encoder/_0{2,2,2} /b{5} /words{3,60} /encoder/tags{2,2,2} ");
}

TEST_F(TextModelTest, ObjectsGoByOrderAndKindNotByName) {
  SmallModel model(1);
  const auto line = [](const char* kind, const char* dim, unsigned size, float first) {
    std::ostringstream text, numbers;
    for (unsigned i = 0; i < size; ++i) numbers << first + static_cast<float>(i) << ' ';
    numbers << '\n';
    text << kind << " /any " << dim << ' ' << numbers.str().size() << " ZERO_GRAD\n"
         << numbers.str();
    return text.str();
  };
  load_text_model(
      write(line("#Parameter#", "{2,3}", 6, 10) + line("#LookupParameter#", "{3,60}", 180, 20) +
            line("#LookupParameter#", "{2,2,2}", 8, 400) + line("#Parameter#", "{2,2,2}", 8, 50) +
            line("#Parameter#", "{5}", 5, 60)),
      model.all);
  EXPECT_EQ(as_vector(model.matrix.values()), (Floats{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(as_vector(model.words.values(1)), (Floats{23, 24, 25}));
  EXPECT_EQ(as_vector(model.tags.values(1)), (Floats{404, 405, 406, 407}));
  EXPECT_EQ(as_vector(model.cube.values())[7], 57.0f);
  EXPECT_EQ(as_vector(model.bias.values()), (Floats{60, 61, 62, 63, 64}));
}

TEST_F(TextModelTest, WhatDoesNotFitChangesNothing) {
  const SmallModel saved(1);
  const SmallModel loaded(2);
  const Floats before = values_of(loaded.all);
  save_text_model(path(), saved.all);
  const std::string good = contents();
  const auto expect_error = [&](const std::string& text, const std::string& part) {
    const std::string message =
        message_of<FileError>([&] { load_text_model(write(text), loaded.all); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(values_of(loaded.all), before);
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  expect_error(replaced("{2,3}", "{3,2}"), ":1: [load] need {2,3} for /W; got {3,2} of /W");
  expect_error(replaced("/tags {2,2,2}", "/tags {4,2}"), ":9: [load] need {2,2,2}");
  expect_error(replaced("#LookupParameter# /encoder", "#Parameter# /encoder"),
               ":11: [load] need 3 parameters and 2");
  expect_error(good + kVector, ":13: [load] need 3 parameters and 2 tables");
  expect_error(good.substr(0, good.find("#Lookup")), "got 3 and 0");
  std::string last = good;
  last[last.size() - 4] = 'x';  // the very last number
  expect_error(last, ":10:");
  expect_error("", "got 0 and 0");
  load_text_model(write(good), loaded.all);
  EXPECT_EQ(values_of(loaded.all), values_of(saved.all));
}

TEST_F(TextModelTest, GradientsAreWrittenWhereThereAreSome) {
  const SmallModel model(1);
  Gradients gradients;
  add_to(gradients, model.matrix, {0, 0, 0, 0, 7});
  add_to(gradients, model.words, 2, {0, -3});
  save_text_model(path(), model.all, &gradients);
  TextModelReader reader(path());
  unsigned full = 0;
  while (reader.next()) {
    const TextModelEntry entry = reader.read();
    if (entry.name == "/W") {
      EXPECT_EQ(entry.gradient, (Floats{0, 0, 0, 0, 7, 0}));
    }
    if (entry.name == "/words") {
      Floats expected(180);
      expected[7] = -3;
      EXPECT_EQ(entry.gradient, expected);
    }
    full += reader.header().has_gradient ? 1 : 0;
  }
  EXPECT_EQ(full, 2u);
  const SmallModel loaded(2);
  load_text_model(path(), loaded.all);
  EXPECT_EQ(values_of(loaded.all), values_of(model.all));
}

// Two parts whose names begin alike, and a parameter beside them.
struct Parts {
  ParameterCollection all, first, second;
  Parameter w, w1, table_like;
  LookupParameter words, words1;

  explicit Parts(float start) {
    first = all.add_subcollection("lstm");
    second = all.add_subcollection("lstm");
    w = first.add_parameters({2}, ParameterInitConst(start), "W");
    w1 = second.add_parameters({2}, ParameterInitConst(start + 1), "W");
    words = first.add_lookup_parameters(3, {1}, ParameterInitConst(start + 2), "words");
    words1 = second.add_lookup_parameters(3, {1}, ParameterInitConst(start + 3), "words");
    table_like = all.add_parameters({1}, ParameterInitConst(start + 4), "lstmX");
  }
};

TEST(TextModelKeysTest, AreWholeComponentsOfAPath) {
  const std::string path = ::testing::TempDir() + "text_model_keys_test.model";
  save_text_model(path, Parts(1).all);
  for (const char* key : {"/lstm", "/lstm/"}) {
    Parts loaded(10);
    load_text_model(path, loaded.second, key);
    EXPECT_EQ(as_vector(loaded.w1.values()), (std::vector<float>{1, 1})) << key;
    EXPECT_EQ(as_vector(loaded.words1.values(2)), (std::vector<float>{3})) << key;
    EXPECT_EQ(as_vector(loaded.w.values()), (std::vector<float>{10, 10})) << key;
  }
  Parts loaded(10);
  load_text_model(path, loaded.first, "/lstm_1");
  EXPECT_EQ(as_vector(loaded.w.values()), (std::vector<float>{2, 2}));
  EXPECT_EQ(as_vector(loaded.words.values(0)), (std::vector<float>{4}));
  for (const char* key : {"/lst", "/lstm/W", "/lstmX", "lstm", "/lstm//", "/lstm_1/W"}) {
    EXPECT_NE(message_of<FileError>([&] {
                load_text_model(path, loaded.first, key);
              }).find("need 1 parameter and 1 table with names that begin"),
              std::string::npos)
        << key;
  }
  EXPECT_THROW(load_text_model(path, loaded.first), FileError);
  EXPECT_THROW(load_text_model(path, loaded.all, "/lstm"), FileError);
  load_text_model(path, loaded.all, "/");
  load_text_model(path, loaded.all);
  EXPECT_EQ(as_vector(loaded.table_like.values()), (std::vector<float>{5}));
}

}  // namespace
}  // namespace dynet_like
