// Trainers and gradients that have nothing to do with each other.
#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/train/trainers.h"
#include "tests/support/message_of.h"
#include "tests/train/trainer_kinds.h"

namespace dynet_like {
namespace {

using trainer_kinds::add_to;

struct OtherGradientsTest : ::testing::Test {
  ParameterCollection model, other;
  Parameter w = model.add_parameters({1}, ParameterInitConst(1), "w");
  LookupParameter table = model.add_lookup_parameters(2, {1}, "table");
  Gradients gradients;

  OtherGradientsTest() {
    for (int i = 0; i < 6; ++i) other.add_parameters({1}, "v");
  }
};

TEST_F(OtherGradientsTest, AreRefusedWithTheNamesOfBoth) {
  add_to(gradients, w, {1});
  gradients.rows(table.get_storage()).entry(table.get_storage(), 1);
  SimpleSGDTrainer trainer(other);
  EXPECT_EQ(message_of<UsageError>([&] { trainer.update(gradients); }),
            "[Trainer] need gradients of the collection that it was made for, which has \"/v\", "
            "\"/v_1\", \"/v_2\", \"/v_3\", \"/v_4\" and 1 more; got those of \"/w\", \"/table\" "
            "elsewhere: make the trainer for the collection that the model is in");
  EXPECT_EQ(trainer.updates(), 0u);
}

TEST_F(OtherGradientsTest, AreRefusedByATrainerWithoutParameters) {
  add_to(gradients, w, {1});
  SimpleSGDTrainer trainer(model.add_subcollection("encoder"));
  EXPECT_EQ(message_of<UsageError>([&] { trainer.update(gradients); }),
            "[Trainer] need gradients of the collection that it was made for, which has no "
            "parameters; got those of \"/w\" elsewhere: make the trainer for the collection that "
            "the model is in");
}

// Its parameters had no part in this minibatch, their gradients are zero: moments go on.
TEST_F(OtherGradientsTest, OfTheSameModelOrNoneAreZero) {
  const ParameterCollection head = model.add_subcollection("head");
  ParameterCollection(head).add_parameters({1}, "v");
  SimpleSGDTrainer trainer(head), of_other(other);
  add_to(gradients, w, {1});
  EXPECT_NO_THROW(trainer.update(gradients));
  gradients.clear();
  EXPECT_NO_THROW(of_other.update(gradients));
  EXPECT_NO_THROW(of_other.update(Gradients()));
  EXPECT_EQ(of_other.updates(), 2u);
}

// Beside those of another model.
TEST_F(OtherGradientsTest, OfSeveralModels) {
  ParameterCollection third;
  add_to(gradients, third.add_parameters({1}), {1});
  add_to(gradients, w, {1});
  SimpleSGDTrainer trainer(model, 0.5f);
  trainer.update(gradients);
  EXPECT_EQ(as_scalar(w.values()), 0.5f);
}

}  // namespace
}  // namespace dynet_like
