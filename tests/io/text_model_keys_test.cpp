// Keys of text models: paths, of which an object's name has all components or none.
#include <gtest/gtest.h>

#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/text_model.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

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
  load_text_model(path, loaded.all, "/");
  load_text_model(path, loaded.all);
  EXPECT_EQ(as_vector(loaded.table_like.values()), (std::vector<float>{5}));
}

}  // namespace
}  // namespace dynet_like
