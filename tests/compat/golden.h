// The numbers that a DyNet 2.1 computed, and how tests compare theirs with them.
#pragma once

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/io.h>
#include <dynet/model.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace dynet::golden {

/// "gru1 h0" and its numbers.
using Row = std::pair<std::string, std::vector<float>>;
using Rows = std::vector<Row>;

/// Every row begins with one of these names. Each test compares the rows of one name.
inline const std::vector<std::string> kSequences = {
    "simple_rnn1", "gru1",     "vanilla1", "vanilla_ln1", "vanilla_forget0_1",
    "compact1",    "coupled1", "fast1",    "sparse1"};
inline const std::vector<std::string> kTrees = {"nary1", "unitree1", "bitree1"};
inline const std::vector<std::string> kTrainers = {
    "sgd", "momentum", "adagrad", "adadelta", "rmsprop", "adam", "amsgrad", "eg", "cyclical"};
inline const std::vector<std::string> kSoftmaxes = {"softmax", "class_factored"};

inline std::filesystem::path folder() {
  const char* data = std::getenv("DYNET_LIKE_DATA");
  return data == nullptr ? "" : std::filesystem::path(data) / "dynet_golden";
}
inline std::string path_of(const std::string& file) { return (folder() / file).string(); }
inline bool is_there() { return std::filesystem::exists(folder() / "dynet.tsv"); }

/// The name that a row begins with.
inline std::string subject_of(const Row& row) { return row.first.substr(0, row.first.find(' ')); }

inline Rows read_rows() {
  std::ifstream file(folder() / "dynet.tsv");
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    std::istringstream numbers(tab == std::string::npos ? "" : line.substr(tab));
    rows.emplace_back(line.substr(0, tab), std::vector<float>());
    for (float number; numbers >> number;) rows.back().second.push_back(number);
    EXPECT_TRUE(numbers.eof() && !rows.back().second.empty()) << line;
  }
  return rows;
}
inline Rows rows_of(const std::string& subject) {
  Rows rows = read_rows();
  std::erase_if(rows, [&](const Row& row) { return subject_of(row) != subject; });
  return rows;
}

/// Within 1e-5 of the larger one, or 1e-6.
inline bool agree(float a, float b) {
  return std::abs(a - b) <= std::max(1e-6f, 1e-5f * std::max(std::abs(a), std::abs(b)));
}

/// The rows are as many, with the same names, and their numbers agree.
inline void expect_agreement(Rows got, Rows expected) {
  const auto by_name = [](const Row& a, const Row& b) { return a.first < b.first; };
  std::sort(got.begin(), got.end(), by_name);
  std::sort(expected.begin(), expected.end(), by_name);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& [name, numbers] = got[i];
    const std::vector<float>& from_dynet = expected[i].second;
    ASSERT_EQ(name, expected[i].first);
    EXPECT_TRUE(
        std::equal(numbers.begin(), numbers.end(), from_dynet.begin(), from_dynet.end(), agree))
        << name << ": " << testing::PrintToString(numbers) << ", in DyNet "
        << testing::PrintToString(from_dynet);
  }
}

/// A test for one name; skipped where the data is not there.
struct GoldenTest : testing::TestWithParam<std::string> {
  void SetUp() override {
    if (!is_there()) {
      GTEST_SKIP() << "needs dynet_golden/dynet.tsv in the folder that DYNET_LIKE_DATA names";
    }
  }
};

/// compute(model file): all rows of a name. They agree with DyNet's from DyNet's file, and are the
/// same from what a builder saves that loaded it. save(from, to) does that.
template <class Compute, class Save>
void expect_agreement_loaded_and_saved(const std::string& name, const Compute& compute,
                                       const Save& save) {
  const std::string original = path_of(name + ".model");
  const std::string saved = testing::TempDir() + "golden_" + name + ".model";
  const Rows rows = compute(original);
  expect_agreement(rows, rows_of(name));
  save(original, saved);
  EXPECT_EQ(compute(saved), rows);
  std::filesystem::remove(saved);
}

/// A builder of the empty model with the parameters of a file.
template <class Make>
auto loaded(const Make& make, ParameterCollection& model, const std::string& file) {
  auto builder = make(model);
  TextFileLoader(file).populate(model);
  return builder;
}

/// The same, and what it loaded saved in another file.
template <class Make>
auto saver_of(const Make& make) {
  return [make](const std::string& from, const std::string& to) {
    ParameterCollection model;
    const auto builder = loaded(make, model, from);
    TextFileSaver(to).save(model);
  };
}

/// Input t of the builders.
inline Expression input_at(ComputationGraph& graph, unsigned t, unsigned size = 4) {
  std::vector<float> x(size);
  for (unsigned i = 0; i < size; ++i) x[i] = static_cast<float>(std::sin(0.7 * t + 0.3 * i + 0.1));
  return input(graph, {size}, x);
}

inline std::vector<float> numbers(const Expression& e) { return as_vector(e.value()); }
inline std::vector<float> numbers(const std::vector<Expression>& all) {
  std::vector<float> result;
  for (const Expression& e : all) {
    for (const float number : numbers(e)) result.push_back(number);
  }
  return result;
}

/// Euclidean norms of the gradients of a loss, of parameters and then of tables.
inline std::vector<float> gradient_norms(ParameterCollection& model, ComputationGraph& graph,
                                         const Expression& loss) {
  model.reset_gradient();
  graph.forward(loss);
  graph.backward(loss);
  std::vector<float> norms;
  const auto add = [&](const auto& list) {
    for (const auto& storage : list) {
      storage->g_squared_l2norm(&norms.emplace_back());
      norms.back() = std::sqrt(norms.back());
    }
  };
  add(model.parameters_list());
  add(model.lookup_parameters_list());
  model.reset_gradient();
  return norms;
}

}  // namespace dynet::golden
