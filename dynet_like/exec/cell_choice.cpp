// Plans a graph with and without some cells, and counts the calls.
#include "dynet_like/exec/cell_choice.h"

#include <algorithm>
#include <numeric>

#include "batching/planner.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kMostTrials = 16;
constexpr double kThinBatch = 4;  ///< cells

class Choice {
 public:
  explicit Choice(const CellTrial& trial) : trial_(trial), used_(trial.cells.size(), true) {}

  std::vector<bool> choose();

 private:
  double calls();
  void find_places();
  void divide(std::uint32_t begin, std::uint32_t end);
  double times(std::size_t cell) const;
  double saved_by(std::size_t cell) const;
  void try_without(std::span<const std::size_t> cells);

  static constexpr std::uint32_t kSingle = ~std::uint32_t{0};

  const CellTrial& trial_;
  std::vector<bool> used_;
  batching::Planner planner_;
  std::vector<std::uint32_t> place_of_;  ///< by node
  // A run whose nodes are cells and single nodes.
  std::vector<std::uint32_t> unit_of_, type_, first_, inputs_;
  std::vector<double> cells_per_batch_;
  double calls_ = 0;  ///< with those in use
};

void Choice::find_places() {
  place_of_.assign(trial_.dag.size(), kSingle);
  for (std::uint32_t p = 0; p < trial_.places.size(); ++p) {
    if (!used_[trial_.places[p].type]) continue;
    for (std::uint32_t node : trial_.places[p].nodes) place_of_[node] = p;
  }
}

// A unit stands where its last node does. Nodes between that read the cell would come before it:
// for an estimate, such edges may be left out.
void Choice::divide(std::uint32_t begin, std::uint32_t end) {
  const batching::Dag& dag = trial_.dag;
  unit_of_.resize(dag.size());
  type_.clear();
  first_.assign(1, 0);
  inputs_.clear();
  const auto add_inputs = [&](std::uint32_t node, std::uint32_t unit) {
    for (std::uint32_t input : dag.inputs_of(node)) {
      if (unit_of_[input] < unit) inputs_.push_back(unit_of_[input]);
    }
  };
  for (std::uint32_t node = begin; node < end; ++node) {
    const auto unit = static_cast<std::uint32_t>(type_.size());
    const std::uint32_t place = place_of_[node];
    unit_of_[node] = kSingle;  // until its cell is complete
    if (place == kSingle) {
      unit_of_[node] = unit;
      type_.push_back(dag.type[node]);
      add_inputs(node, unit);
    } else if (trial_.places[place].nodes.back() == node) {
      const std::vector<std::uint32_t>& members = trial_.places[place].nodes;
      for (std::uint32_t member : members) unit_of_[member] = unit;
      type_.push_back(dag.type_count + trial_.places[place].type);
      for (std::uint32_t member : members) add_inputs(member, unit);
    } else {
      continue;
    }
    first_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
}

double Choice::calls() {
  find_places();
  const std::uint32_t node_types = trial_.dag.type_count;
  const auto types = static_cast<std::uint32_t>(node_types + trial_.cells.size());
  double calls = 0;
  std::vector<double> batches(trial_.cells.size(), 0);
  for (std::size_t run = 0; run < trial_.first_of_run.size(); ++run) {
    const bool is_last = run + 1 == trial_.first_of_run.size();
    divide(trial_.first_of_run[run],
           is_last ? static_cast<std::uint32_t>(trial_.dag.size()) : trial_.first_of_run[run + 1]);
    const batching::Schedule& schedule =
        planner_.plan({types, type_, first_, inputs_}, trial_.policy);
    for (std::size_t b = 0; b < schedule.size(); ++b) {
      const std::uint32_t type = type_[schedule.batch(b)[0]];
      if (type < node_types) {
        calls += double{trial_.weights[type]};
      } else {
        batches[type - node_types] += 1;
      }
    }
  }
  for (std::size_t c = 0; c < trial_.cells.size(); ++c) {
    const CellType& cell = trial_.cells[c];
    for (const CellStep& step : cell.steps) {
      calls += batches[c] * double{trial_.weights[step.type]};
    }
    if (batches[c] > 0) cells_per_batch_[c] = times(c) / batches[c];
  }
  return calls;
}

double Choice::times(std::size_t cell) const {
  return static_cast<double>(
      std::count_if(trial_.places.begin(), trial_.places.end(),
                    [&](const CellPlace& place) { return place.type == cell; }));
}

double Choice::saved_by(std::size_t cell) const {
  const std::size_t nodes = trial_.cells[cell].pattern.size();
  return times(cell) * static_cast<double>(nodes - 1) / trial_.nodes_per_call;
}

// Drops these if what they save is worth less than their calls. Two may share no calls because of
// each other, so that only dropping both helps.
void Choice::try_without(std::span<const std::size_t> cells) {
  const std::vector<bool> before = used_;
  double saved = 0;
  for (std::size_t cell : cells) {
    if (used_[cell]) saved += saved_by(cell);
    used_[cell] = false;
  }
  const double without = calls();
  if (without + saved < calls_) {
    calls_ = without;
  } else {
    used_ = before;
  }
}

// Those that fill their batches least come first.
std::vector<bool> Choice::choose() {
  if (trial_.cells.empty()) return used_;
  cells_per_batch_.assign(trial_.cells.size(), 0);
  calls_ = calls();
  std::vector<std::size_t> order(trial_.cells.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cells_per_batch_[a] < cells_per_batch_[b];
  });
  const auto thin = std::count_if(order.begin(), order.end(), [&](std::size_t cell) {
    return cells_per_batch_[cell] < kThinBatch;
  });
  const std::vector<std::size_t> tried(
      order.begin(),
      order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), kMostTrials)));
  try_without(std::span(order).first(static_cast<std::size_t>(thin)));
  for (std::size_t cell : tried) {
    if (used_[cell]) try_without(std::span(&cell, 1));
  }
  return used_;
}

}  // namespace

std::vector<bool> choose_cells(const CellTrial& trial) { return Choice(trial).choose(); }

}  // namespace dynet_like::detail
