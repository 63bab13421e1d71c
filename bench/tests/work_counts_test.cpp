// The work that a minibatch of every model takes: batches, kernel calls, copies and memory stay
// within the bounds of work_bounds.txt. Nothing is timed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

#include "bench/models/models.h"

namespace dynet_like::bench {
namespace {

constexpr unsigned kSamples = 64;
/// Quick, and neither it nor a few times it is the width of another layer, which could make types
/// of one: the batches are those of the sizes that are measured.
constexpr unsigned kHidden = 12;

struct Quantity {
  const char* name;
  std::uint64_t Report::*of;
  double tolerance;  ///< how far above its bound it may be
};
constexpr double kSharp = 0.05;  ///< how far below its bound it may be
constexpr double kOfBytes = 0.01;
constexpr std::array kQuantities = {
    Quantity{"nodes", &Report::nodes, 0},
    Quantity{"batches", &Report::batches, 0},
    Quantity{"least_batches", &Report::bound, 0},
    Quantity{"kernel_calls", &Report::kernel_calls, 0},
    Quantity{"copied_bytes", &Report::copied_bytes, 0},
    Quantity{"value_bytes", &Report::value_bytes, kOfBytes},
    Quantity{"gradient_bytes", &Report::gradient_bytes, kOfBytes},
    Quantity{"peak_bytes", &Report::peak_bytes, kOfBytes},
};

using Amounts = std::array<std::uint64_t, kQuantities.size()>;
/// By the name of the row, such as "tree_lstm/train/fused".
using Table = std::map<std::string, Amounts>;

constexpr const char* kHead =
    R"(# What the first 64 instances of every model of bench/models take together, with layers of 12
# numbers and one thread; least_batches is the bound of the report.
#
# bench_work_counts_test fails where a row takes more (bytes: 1 % more), and also where it takes over
# 5 % less, so that the bounds stay sharp. Never edit this file; it is written by
#   DYNET_LIKE_UPDATE_BOUNDS=1 ctest --preset release -R work_counts
# Whoever raises a bound says why in docs/decisions.md.
)";

// ------------------------------------------------------------------- the file

void write(std::ostream& out, const Table& table) {
  out << kHead << std::left << std::setw(29) << "# row" << std::right;
  for (const Quantity& quantity : kQuantities) out << std::setw(15) << quantity.name;
  out << '\n';
  for (const auto& [name, amounts] : table) {
    out << std::left << std::setw(29) << name << std::right;
    for (const std::uint64_t amount : amounts) out << std::setw(15) << amount;
    out << '\n';
  }
}

Table read(std::istream& in) {
  Table table;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream line(text);
    std::string name, more;
    Amounts amounts;
    line >> name;
    for (std::uint64_t& amount : amounts) line >> amount;
    if (!line || line >> more || !table.emplace(name, amounts).second) {
      throw std::runtime_error("[work bounds] need a name of its own and " +
                               std::to_string(amounts.size()) + " numbers; got " + text);
    }
  }
  return table;
}

std::string bounds_file() {
  const char* root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (root == nullptr) throw std::runtime_error("need DYNET_LIKE_SOURCE_DIR, which ctest sets");
  return std::string(root) + "/bench/tests/work_bounds.txt";
}

// ------------------------------------------------------------------- the rules

std::vector<std::string> faults_of_row(const std::string& name, const Amounts& bounds,
                                       const Amounts& amounts) {
  std::vector<std::string> faults;
  for (std::size_t q = 0; q < kQuantities.size(); ++q) {
    const auto bound = static_cast<double>(bounds[q]), amount = static_cast<double>(amounts[q]);
    const bool above = amount > bound * (1 + kQuantities[q].tolerance);
    const bool below = amount < bound * (1 - kSharp);
    if (!above && !below) continue;
    faults.push_back(name + ": need " + std::to_string(bounds[q]) + " " + kQuantities[q].name +
                     (above ? " at most; got " : "; got only ") + std::to_string(amounts[q]) +
                     (above ? "" : ": lower the bound"));
  }
  return faults;
}

/// What is above its bound, or far below, or in only one of the tables.
std::vector<std::string> faults(const Table& bounds, const Table& table) {
  std::vector<std::string> result;
  for (const auto& [name, amounts] : table) {
    const auto bound = bounds.find(name);
    if (bound == bounds.end()) {
      result.push_back(name + ": need bounds; got none");
      continue;
    }
    for (std::string& fault : faults_of_row(name, bound->second, amounts)) {
      result.push_back(std::move(fault));
    }
  }
  for (const auto& [name, bound] : bounds) {
    if (!table.contains(name)) result.push_back(name + ": need such a row; got bounds alone");
  }
  return result;
}

// ------------------------------------------------------------------- the work

Amounts work_of(const Workload& workload, bool train) {
  GraphOptions options;
  options.inference = !train;
  Minibatch batch(options);
  for (unsigned i = 0; i < kSamples; ++i) batch.add_loss(workload.loss(batch.new_graph(), i));
  EXPECT_TRUE(std::isfinite(batch.forward()));
  if (train) batch.backward();
  const Report report = batch.explain();
  Amounts amounts;
  for (std::size_t q = 0; q < amounts.size(); ++q) amounts[q] = report.*kQuantities[q].of;
  return amounts;
}

Table work_of_all() {
  Table table;
  for (const ModelKind& model : all_models()) {
    for (const Form form : {Form::fused, Form::ops}) {
      const auto workload = model.make(kHidden, form);
      for (const bool train : {true, false}) {
        const std::string name = std::string(model.name) + (train ? "/train" : "/infer") +
                                 (form == Form::fused ? "/fused" : "/ops");
        table[name] = work_of(*workload, train);
      }
    }
  }
  return table;
}

TEST(WorkCounts, StayWithinTheirBounds) {
  const Table table = work_of_all();
  const std::string file = bounds_file();
  std::ifstream in(file);
  const std::vector<std::string> found = faults(read(in), table);
  if (std::getenv("DYNET_LIKE_UPDATE_BOUNDS") == nullptr) {
    for (const std::string& fault : found) ADD_FAILURE() << fault;
    return;
  }
  for (const std::string& fault : found) std::cout << fault << '\n';
  std::ofstream out(file);
  write(out, table);
  out.close();
  ASSERT_TRUE(out) << "cannot write " << file;
}

// ------------------------------------------------------------------- tests of the rules

constexpr Amounts kAmounts = {1000, 100, 90, 200, 0, 20000, 10000, 40000};

std::string only_fault(std::size_t quantity, std::uint64_t amount) {
  Amounts changed = kAmounts;
  changed[quantity] = amount;
  const std::vector<std::string> found =
      faults({{"tagger/train/ops", kAmounts}}, {{"tagger/train/ops", changed}});
  EXPECT_LE(found.size(), 1u);
  return found.empty() ? "" : found[0];
}

TEST(WorkCountsRules, CountsAreBoundedExactly) {
  EXPECT_EQ(only_fault(1, 100), "");
  EXPECT_EQ(only_fault(1, 101), "tagger/train/ops: need 100 batches at most; got 101");
  EXPECT_EQ(only_fault(3, 201), "tagger/train/ops: need 200 kernel_calls at most; got 201");
  EXPECT_EQ(only_fault(4, 1), "tagger/train/ops: need 0 copied_bytes at most; got 1");
}

TEST(WorkCountsRules, BytesMayBeALittleMore) {
  EXPECT_EQ(only_fault(5, 20200), "");
  EXPECT_EQ(only_fault(5, 20201), "tagger/train/ops: need 20000 value_bytes at most; got 20201");
}

TEST(WorkCountsRules, BoundsMustBeSharp) {
  EXPECT_EQ(only_fault(1, 95), "");
  EXPECT_EQ(only_fault(1, 94), "tagger/train/ops: need 100 batches; got only 94: lower the bound");
}

TEST(WorkCountsRules, RowsAndBoundsBelongTogether) {
  const Table one = {{"a", kAmounts}}, two = {{"a", kAmounts}, {"b", kAmounts}};
  EXPECT_EQ(faults(one, two), std::vector<std::string>{"b: need bounds; got none"});
  EXPECT_EQ(faults(two, one), std::vector<std::string>{"b: need such a row; got bounds alone"});
}

TEST(WorkCountsRules, TheFileIsReadAsItIsWritten) {
  const Table table = {{"a", kAmounts}, {"b", Amounts{1}}};
  std::stringstream file;
  write(file, table);
  EXPECT_EQ(read(file), table);
  for (const char* bad : {"a 1 2 3\n", "a 1 2 3 4 5 6 7 8 9\n", "a 1 2 3 x 5 6 7 8\n",
                          "a 1 2 3 4 5 6 7 8\na 1 2 3 4 5 6 7 8\n"}) {
    std::istringstream in(bad);
    EXPECT_THROW(read(in), std::runtime_error) << bad;
  }
}

}  // namespace
}  // namespace dynet_like::bench
