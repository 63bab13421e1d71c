// What holds for every layer: shapes, gradients, the same bits in any minibatch, saving, objects
// that were copied, moved or made by default, refusals. The layers are in tests/support.
#include <cstdlib>
#include <regex>
#include <set>

#include "tests/support/attempt.h"
#include "tests/support/layer_cases.h"
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"
#include "tests/support/source_text.h"

namespace dynet_like::nn {
namespace {

/// Of all results, each with its own weight.
Expression loss_of(const std::vector<Expression>& results) {
  std::vector<Expression> losses;
  for (const Expression& result : results) {
    const float weight = 1 / static_cast<float>(1 + losses.size());
    losses.push_back(weight * sum_batches(squared_norm(result)));
  }
  return sum(losses);
}

std::vector<float> bits_of(const std::vector<Expression>& results) {
  std::vector<float> bits;
  for (const Expression& result : results) testing::append(bits, result.value());
  return bits;
}

class AllLayersTest : public ::testing::TestWithParam<LayerCase> {
 protected:
  UseLayer make(ParameterCollection& model, Origin origin = Origin::constructed) const {
    return GetParam().make(model, origin);
  }
  Expression columns(ComputationGraph& graph, unsigned count, unsigned more_rows = 0) const {
    return drawn_matrix(graph, std::max(GetParam().rows, 1u) + more_rows, count, count);
  }
};

INSTANTIATE_TEST_SUITE_P(Layers, AllLayersTest, ::testing::ValuesIn(layer_cases()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST_P(AllLayersTest, HaveTheirShapes) {
  ParameterCollection model;
  const UseLayer use = make(model);
  ComputationGraph graph({.seed = 1});
  std::vector<Dim> dims;
  for (const Expression& result : use(columns(graph, 3))) dims.push_back(result.dim());
  EXPECT_EQ(dims, GetParam().dims);
}

// In inference, without dropout.
TEST_P(AllLayersTest, MapEveryColumnByItself) {
  if (!GetParam().by_column) return;
  ParameterCollection model;
  const UseLayer use = make(model);
  randomise(model, 2);
  ComputationGraph graph({.inference = true});
  const Expression xs = columns(graph, 4), all = use(xs)[0];
  for (unsigned j = 0; j < 4; ++j) {
    const Expression alone = use(pick_range(xs, j, j + 1, 1))[1];
    EXPECT_EQ(as_vector(pick(all, j, 1).value()), as_vector(alone.value()));
  }
}

TEST_P(AllLayersTest, HaveTheGradientsOfDifferences) {
  if (runs_slowly()) GTEST_SKIP() << "operations are compared everywhere";
  ParameterCollection model(1, DType::f64);
  const UseLayer use = make(model);
  const Parameter inputs = model.add_parameters({std::max(GetParam().rows, 1u), 4});
  randomise(model, 3);
  expect_gradients(model, [&](ComputationGraph& graph) {
    const Expression xs = parameter(graph, inputs);
    return loss_of(use(xs)) + loss_of(use(pick_range(xs, 0, 1, 1)));
  });
}

TEST_P(AllLayersTest, HaveTheSameBitsInEveryMinibatch) {
  ParameterCollection model;
  const UseLayer use = make(model);
  randomise(model, 4);
  const Parameter factor = model.add_parameters({1}, ParameterInitConst(1.25f));
  expect_same_bits_in_batches(model, 8, [&](ComputationGraph& graph, unsigned sample) {
    // The factor makes all values those of the sample, and says whether columns have gradients.
    return loss_of(use(cmult(columns(graph, 1 + sample), parameter(graph, factor))));
  });
}

TEST_P(AllLayersTest, AreSavedAndLoaded) {
  ParameterCollection model(1), other(2);
  const UseLayer use = make(model), loaded = make(other);
  randomise(model, 5);
  const std::string path = ::testing::TempDir() + "/layer.safetensors";
  save_parameters(path, model);
  load_parameters(path, other);
  ComputationGraph graph({.seed = 1}), again({.seed = 1});
  EXPECT_EQ(bits_of(use(columns(graph, 3))), bits_of(loaded(columns(again, 3))));
}

TEST_P(AllLayersTest, AreTheSameWhenCopiedOrMoved) {
  const auto bits = [&](Origin origin) {
    ParameterCollection model(1);
    const UseLayer use = make(model, origin);
    randomise(model, 6);
    ComputationGraph graph({.seed = 1});
    return use == nullptr ? std::vector<float>() : bits_of(use(columns(graph, 3)));
  };
  const std::vector<float> expected = bits(Origin::constructed);
  for (const Origin origin : {Origin::copied, Origin::moved, Origin::assigned}) {
    const std::vector<float> found = bits(origin);
    EXPECT_TRUE(found.empty() || testing::same(found, expected)) << static_cast<int>(origin);
  }
}

TEST_P(AllLayersTest, AreRefusedOrWorkWhenEmpty) {
  for (const Origin origin : {Origin::constructed, Origin::moved_from, Origin::by_default}) {
    ParameterCollection model;
    const UseLayer use = make(model, origin);
    if (use == nullptr) continue;
    ComputationGraph graph({.seed = 1}), cleared({.seed = 1});
    ATTEMPT(bits_of(use(columns(graph, 3))));
    const Expression gone = columns(cleared, 3);
    cleared.clear();
    for (const Expression& xs : {Expression(), gone}) {
      ATTEMPT(use(xs));
      if (origin != Origin::constructed) continue;
      EXPECT_THROW(use(xs), StateError);
    }
  }
}

TEST_P(AllLayersTest, RefuseColumnsOfAnotherSize) {
  if (GetParam().rows == 0) return;
  ParameterCollection model;
  const UseLayer use = make(model);
  ComputationGraph graph({.seed = 1});
  const auto accepts = [&](unsigned more_rows) {
    try {
      bits_of(use(columns(graph, 3, more_rows)));
      return true;
    } catch (const ShapeError& error) {
      EXPECT_NE(std::string(error.what()).find("need"), std::string::npos) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(accepts(0));
  const std::string name = GetParam().class_name();
  const bool is_function = make(model, Origin::copied) == nullptr;
  EXPECT_EQ(accepts(1), is_function || name == "DotAttention" || name == "ScalarMix");
}

// ---------------------------------------------------------------------------- the page of layers

TEST(AllLayersListTest, HasEveryLayerOfThePage) {
  const std::string page = source_text("docs/layers.md");
  std::set<std::string> listed, missing;
  for (const LayerCase& each : layer_cases()) listed.insert(each.class_name());
  // A chart of transitions has no columns; a stack of layers has those of its layer.
  listed.insert({"ParserState", "Stacked", "Bidirectional"});
  unsigned found = 0;
  for (const std::string& names :
       first_groups(page, R"(\n\| ((?:`\w+(?:<Layer>)?`(?:, )?)+) \| [^|]*\| [^|]*\| )")) {
    for (const std::string& name : first_groups(names, R"(`(\w+)(?:<Layer>)?`)")) {
      if (!listed.contains(name)) missing.insert(name);
      ++found;
    }
  }
  EXPECT_GT(found, 40u);
  EXPECT_EQ(missing, std::set<std::string>()) << "need an entry in tests/support/layer_cases.cpp";
}

// The names in saved files.
TEST(AllLayersListTest, ThePageHasTheNamesOfParameters) {
  const std::string page = source_text("docs/layers.md");
  std::map<std::string, std::string> rows;
  for (const std::smatch& each : matches(page, R"(\n\| `(\w+)` \| ((?:`/[\w/]+`(?:, )?)+) \|)")) {
    rows[each[1]] = each[2];
  }
  EXPECT_GT(rows.size(), 15u);
  for (const LayerCase& each : layer_cases()) {
    if (each.name != each.class_name() || !rows.contains(each.name)) continue;
    ParameterCollection model;
    const UseLayer use = each.make(model, Origin::constructed);
    // A layer of the list may have more parts than one of the page: further ones have numbers.
    const std::string& row_of_page = rows.at(each.name);
    for (const auto& storage : model.storages()) {
      const bool is_further = storage->name.find("_1/") != std::string::npos;
      EXPECT_TRUE(is_further || row_of_page.find('`' + storage->name + '`') != std::string::npos)
          << storage->name << " is not in the row of " << each.name;
    }
    for (const std::string& path : first_groups(row_of_page, "`([^`]+)`")) {
      EXPECT_NO_THROW(model.find(path)) << each.name;
    }
    rows.erase(each.name);
  }
  EXPECT_TRUE(rows.empty()) << "rows of layers that have no entry";
}

}  // namespace
}  // namespace dynet_like::nn
