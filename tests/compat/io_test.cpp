// <dynet/io.h>: DyNet's text files.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/io.h>
#include <dynet/lstm.h>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using Floats = std::vector<float>;

class CompatIoTest : public ::testing::Test {
 protected:
  CompatIoTest() { std::filesystem::remove(path_); }
  ~CompatIoTest() override { std::filesystem::remove(path_); }

  std::string text() const {
    std::stringstream result;
    result << std::ifstream(path_).rdbuf();
    return result.str();
  }

  const std::string path_ = testing::TempDir() + "compat_io.model";
};

// Written by hand from the description of the format.
TEST_F(CompatIoTest, LoadsAModelOfDyNet) {
  std::ofstream(path_) << "#Parameter# /W {2,2} 65 ZERO_GRAD\n"
                          "+1.00000000e+00 -2.50000000e+00 +3.00000000e-01 +0.00000000e+00 \n"
                          "#LookupParameter# /E {2,2} 130 FULL_GRAD\n"
                          "+1.00000000e+00 +2.00000000e+00 +3.00000000e+00 +4.00000000e+00 \n"
                          "+0.00000000e+00 +0.00000000e+00 +5.00000000e-01 -5.00000000e-01 \n"
                          "#Parameter# /lstm/_0 {1} 17 ZERO_GRAD\n"
                          "+7.00000000e+00 \n";
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 2});
  const LookupParameter e = model.add_lookup_parameters(2, {2});
  const Parameter b = model.add_subcollection("lstm").add_parameters({1});
  TextFileLoader(path_).populate(model);
  EXPECT_EQ(as_vector(*w.values()), (Floats{1, -2.5f, 0.3f, 0}));
  EXPECT_EQ(as_vector(e.p->all_values), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(as_vector(e.p->grads[1]), (Floats{0.5f, -0.5f}));
  EXPECT_EQ(as_vector(*b.values()), (Floats{7}));
  model.reset_gradient();
  ParameterCollection other;
  const Parameter part = other.add_parameters({1});
  EXPECT_THROW(TextFileLoader(path_).populate(other), dynet_like::FileError);
  TextFileLoader(path_).populate(other, "/lstm");
  EXPECT_EQ(as_vector(*part.values()), (Floats{7}));
}

TEST_F(CompatIoTest, ARoundTripIsExact) {
  ParameterCollection model, copy;
  for (ParameterCollection* m : {&model, &copy}) {
    m->add_parameters({5, 7});
    m->add_lookup_parameters(11, {3});
    m->add_subcollection("rnn").add_parameters({4}, ParameterInitNormal(0, 1e-20f), "b");
  }
  const auto p = Parameter(model.parameters_list()[0]);
  ComputationGraph graph;
  graph.backward(squared_norm(parameter(graph, p)));
  save_dynet_model(path_, &model);
  const Floats gradient = as_vector(*p.gradients());
  load_dynet_model(path_, &copy);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(as_vector(model.parameters_list()[i]->values),
              as_vector(copy.parameters_list()[i]->values));
  }
  EXPECT_EQ(as_vector(model.lookup_parameters_list()[0]->all_values),
            as_vector(copy.lookup_parameters_list()[0]->all_values));
  EXPECT_EQ(as_vector(*Parameter(copy.parameters_list()[0]).gradients()), gradient);
  copy.reset_gradient();
  model.reset_gradient();
}

TEST_F(CompatIoTest, KeysNameObjects) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitFromVector({1, 2}), "p");
  const LookupParameter t = model.add_lookup_parameters(2, {1}, ParameterInitFromVector({3, 4}));
  ParameterCollection sub = model.add_subcollection("sub");
  sub.add_parameters({1}, ParameterInitConst(5), "q");
  TextFileSaver saver(path_);
  saver.save(p, "/first");
  saver.save(t, "table");
  saver.save(sub, "/other");
  saver.save(model);
  TextFileSaver(path_, true).save(p, "/last");
  std::vector<std::string> names;
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) names.push_back(line.substr(0, line.find(" {")));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"#Parameter# /first", "#LookupParameter# /table",
                                             "#Parameter# /other/q", "#Parameter# /p",
                                             "#Parameter# /sub/q", "#LookupParameter# /_0",
                                             "#Parameter# /last"}));
  ParameterCollection other;
  TextFileLoader loader(path_);
  const Parameter loaded = loader.load_param(other, "/last");
  EXPECT_EQ(as_vector(*loaded.values()), (Floats{1, 2}));
  const LookupParameter table = loader.load_lookup_param(other, "/table");
  EXPECT_EQ(as_vector(table.p->all_values), (Floats{3, 4}));
  EXPECT_EQ(table.dim(), Dim({1}));
  Parameter q = other.add_parameters({1});
  loader.populate(q, "/other/q");
  EXPECT_EQ(as_vector(*q.values()), (Floats{5}));
  LookupParameter rows = other.add_lookup_parameters(2, {1});
  loader.populate(rows);
  EXPECT_EQ(as_vector(rows.p->all_values), (Floats{3, 4}));
  EXPECT_THROW(loader.populate(q, "/nobody"), dynet_like::FileError);
  EXPECT_THROW(loader.populate(q, "/first"), dynet_like::FileError);
  EXPECT_EQ(as_vector(*q.values()), (Floats{5}));
  EXPECT_THROW(TextFileLoader("/nowhere/at/all").populate(q, "/p"), dynet_like::FileError);
  EXPECT_THROW(TextFileSaver("/nowhere/at/all").save(p), dynet_like::FileError);
}

// DyNet takes "/vanilla-lstm-builder" for the first builder alone, though all names begin so.
TEST_F(CompatIoTest, KeysOfCollectionsAreWholeComponents) {
  ParameterCollection model;
  const VanillaLSTMBuilder first(1, 2, 3, model), second(1, 2, 3, model);
  std::vector<Floats> values;
  for (const auto& parameter : model.parameters_list())
    values.push_back(as_vector(parameter->values));
  save_dynet_model(path_, &model);
  for (const unsigned which : {0u, 1u}) {
    ParameterCollection other;
    VanillaLSTMBuilder builder(1, 2, 3, other);
    TextFileLoader(path_).populate(
        builder.get_parameter_collection(),
        which == 0 ? "/vanilla-lstm-builder" : "vanilla-lstm-builder_1/");
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(as_vector(other.parameters_list()[i]->values), values[3 * which + i]) << which << i;
    }
    EXPECT_THROW(TextFileLoader(path_).populate(other, "/vanilla"), dynet_like::FileError);
  }
  Parameter one = model.add_parameters({1});
  try {
    TextFileLoader(path_).populate(one, "/vanilla-lstm-builder/_3");
    ADD_FAILURE() << "there is no such object";
  } catch (const dynet_like::FileError& error) {
    EXPECT_TRUE(dynet_like::mentions(std::string(error.what()),
                                     "got none, the nearest are \"/vanilla-lstm-builder/_"))
        << error.what();
  }
}

TEST_F(CompatIoTest, VectorsAreWrittenAndRead) {
  std::stringstream text;
  dynet::operator<<(text, std::vector<int>{1, 2, 3});
  EXPECT_EQ(text.str(), "3 1 2 3");
  std::vector<int> read;
  dynet::operator>>(text, read);
  EXPECT_EQ(read, (std::vector<int>{1, 2, 3}));
  std::istringstream short_text("99999999999 1 2");
  dynet::operator>>(short_text, read);
  EXPECT_EQ(read, (std::vector<int>{1, 2}));
  EXPECT_TRUE(short_text.fail());
}

}  // namespace
