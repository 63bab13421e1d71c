// Values of all parameters: copied from one collection to another, and looked through.
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

/// A small model, in a subcollection.
struct Model {
  ParameterCollection all;
  ParameterCollection part;
  Parameter w;
  LookupParameter table;

  explicit Model(std::uint64_t seed, const std::string& name = "model", DType dtype = DType::f32,
                 unsigned columns = 3)
      : all(seed, dtype),
        part(all.add_subcollection(name)),
        w(part.add_parameters({2, columns}, ParameterInitNormal(), "W")),
        table(part.add_lookup_parameters(4, {3}, ParameterInitNormal(), "table")) {}

  std::vector<double> values() const {
    std::vector<double> result = as_doubles(w.values()), rows = as_doubles(table.all_values());
    result.insert(result.end(), rows.begin(), rows.end());
    return result;
  }
};

TEST(CopyValuesTest, GivesTheSameValuesAndNothingElse) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model from(1, "model", dtype), to(2, "model", dtype);
    to.w.set_updated(false);
    const std::uint64_t version = to.w.get_storage().values.version();
    ASSERT_NE(from.values(), to.values());
    copy_values(from.all, to.all);
    EXPECT_EQ(from.values(), to.values());
    EXPECT_FALSE(to.w.is_updated());
    EXPECT_TRUE(from.w.is_updated());
    EXPECT_NE(to.w.get_storage().values.version(), version);  // graphs compute anew
    copy_values(to.all, to.all);
    EXPECT_EQ(from.values(), to.values());
    from.w.zero();
    EXPECT_NE(from.values(), to.values());
  }
}

TEST(CopyValuesTest, NamesAreThoseInSubcollections) {
  const Model teacher(1, "teacher"), student(2, "student");
  copy_values(teacher.part, student.part);
  EXPECT_EQ(teacher.values(), student.values());
  EXPECT_EQ(
      message_of<UsageError>([&] { copy_values(teacher.all, student.all); }),
      "[copy_values] need the same parameters in both collections; got \"/teacher/W\" only in "
      "the one to copy from");
}

// Rows that a trainer left behind are up to date in both.
TEST(CopyValuesTest, RowsThatAreLeftBehind) {
  const Model from(1), to(2);
  const auto leave_behind = [](const Model& model, Trainer& trainer) {
    trainer.sparse_updates = SparseUpdates::exact;
    Gradients gradients;
    add_to(gradients, model.table, 1, {1, 2, 3});
    trainer.update(gradients);
    for (int step = 0; step < 5; ++step) trainer.update({});
  };
  AdamTrainer of_from(from.all), of_to(to.all);
  leave_behind(from, of_from);
  leave_behind(to, of_to);
  copy_values(from.all, to.all);
  EXPECT_EQ(from.values(), to.values());
}

TEST(CopyValuesTest, WhatIsRefusedChangesNothing) {
  const Model to(2);
  const std::vector<double> before = to.values();
  const auto refused = [&](const Model& from) {
    const std::string message = message_of<UsageError>([&] { copy_values(from.all, to.all); });
    EXPECT_EQ(to.values(), before);
    return message;
  };
  EXPECT_EQ(refused(Model(1, "model", DType::f64)),
            "[copy_values] need float {2,3} for \"/model/W\"; got double {2,3} of \"/model/W\"");
  EXPECT_EQ(refused(Model(1, "model", DType::f32, 4)),
            "[copy_values] need float {2,3} for \"/model/W\"; got float {2,4} of \"/model/W\"");
  Model more(1);
  more.part.add_parameters({1}, "more");
  EXPECT_EQ(refused(more),
            "[copy_values] need the same parameters in both collections; got \"/model/more\" only "
            "in the one to copy from");
  EXPECT_EQ(message_of<UsageError>([&] { copy_values(to.all, more.all); }),
            "[copy_values] need the same parameters in both collections; got \"/model/more\" only "
            "in the one to copy to");
  ParameterCollection other;
  ParameterCollection part = other.add_subcollection("model");
  part.add_parameters({2, 3}, "W");
  part.add_parameters({3, 4}, "table");
  EXPECT_EQ(message_of<UsageError>([&] { copy_values(other, to.all); }),
            "[copy_values] need float {3,4}, a table for \"/model/table\"; got float {3,4} of "
            "\"/model/table\"");
  const Model bad(1);
  bad.table.all_values().set(7, std::nan(""));
  EXPECT_EQ(message_of<NumericError>([&] { copy_values(bad.all, to.all); }),
            "[copy_values] need values that are numbers; got nan for \"/model/table\", element 1 "
            "of row 2");
  EXPECT_EQ(to.values(), before);
}

TEST(CheckNoNanTest, InfinitiesPass) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model(1, "model", dtype);
    model.w.values().set(0, -std::numeric_limits<double>::infinity());
    model.table.all_values().set(11, std::numeric_limits<double>::infinity());
    EXPECT_NO_THROW(check_no_nan(model.all));
    EXPECT_NO_THROW(check_no_nan(ParameterCollection()));
    model.w.values().set(5, std::nan(""));
    EXPECT_EQ(message_of<NumericError>([&] { check_no_nan(model.all); }),
              "[check_no_nan] need values that are numbers; got nan for \"/model/W\", element 5");
  }
}

}  // namespace
}  // namespace dynet_like
