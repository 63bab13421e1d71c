// Programs whose cells are known, for tests of what explain() tells of cells.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "dynet_like/dynet_like.h"
#include "dynet_like/exec/cell_reasons.h"

namespace dynet_like::testing {

inline constexpr unsigned kSize = 6, kSamples = 16;
inline constexpr const char* kStep = "affine_transform logistic affine_transform tanh cmult tanh";

inline std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often there was this reason for these ops.
inline std::uint64_t times(const Report& report, CellReason reason,
                           const std::string& ops = kStep) {
  for (const Report::NotFolded& other : report.not_folded) {
    if (other.reason == words_of(reason) && other.ops == ops) return other.times;
  }
  return 0;
}

inline const Report::Cell* find_cell(const Report& report, const std::string& ops = kStep) {
  for (const Report::Cell& cell : report.cells) {
    if (cell.ops == ops) return &cell;
  }
  return nullptr;
}

class ExplainCells : public ::testing::Test {
 protected:
  /// Records what belongs to a sample, and returns its loss.
  using Program = std::function<Expression(ComputationGraph&, unsigned sample)>;
  /// Does something in the middle of a step.
  using Middle = std::function<void(ComputationGraph&, const Expression&)>;

  Expression affine(ComputationGraph& graph, const Parameter& w, const Expression& x) const {
    return affine_transform({parameter(graph, bias), parameter(graph, w), x});
  }

  /// Six nodes.
  Expression step(ComputationGraph& graph, const Expression& x, const Expression& y,
                  const Middle& middle = {}) const {
    const Expression gate = logistic(affine(graph, u, x)), other = tanh(affine(graph, v, y));
    const Expression product = cmult(gate, other);
    if (middle) middle(graph, product);
    return tanh(product);
  }

  Expression word(ComputationGraph& graph, unsigned i) const {
    return lookup(graph, table, i % 10);
  }

  static unsigned length(unsigned sample) { return 3 + sample % 4; }
  static unsigned all_steps() {
    unsigned sum = 0;
    for (unsigned sample = 0; sample < kSamples; ++sample) sum += length(sample);
    return sum;
  }

  Program chain(const Middle& middle = {}) const {
    return [this, middle](ComputationGraph& graph, unsigned sample) {
      Expression state = word(graph, sample);
      for (unsigned i = 0; i < length(sample); ++i) state = step(graph, state, state, middle);
      return squared_norm(state);
    };
  }
  /// One step whose two inputs differ.
  Program pair() const {
    return [this](ComputationGraph& graph, unsigned sample) {
      const Expression x = word(graph, sample), y = word(graph, sample + 3);
      return squared_norm(step(graph, x, y));
    };
  }

  static void record(Minibatch& batch, const Program& program, unsigned samples = kSamples) {
    for (unsigned s = 0; s < samples; ++s) batch.add_loss(program(batch.new_graph(), s));
  }

  static Report run(Minibatch& batch, const Program& program, unsigned samples = kSamples) {
    batch.clear();
    record(batch, program, samples);
    batch.forward();
    batch.backward();
    return batch.explain();
  }

  /// Learns from one program; then runs another.
  static Report after(const Program& learned, const Program& program, GraphOptions options = {}) {
    options.cells_after = 50;
    Minibatch batch(options);
    EXPECT_GT(run(batch, learned).nodes_in_cells, 0u);
    return run(batch, program);
  }

  ParameterCollection model;
  Parameter u = model.add_parameters({kSize, kSize}), v = model.add_parameters({kSize, kSize}),
            bias = model.add_parameters({kSize});
  LookupParameter table = model.add_lookup_parameters(10, {kSize});
};

}  // namespace dynet_like::testing
