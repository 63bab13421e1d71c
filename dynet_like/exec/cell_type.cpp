// Planning the inside of a cell: which members share a call, and in which order gradients come.
#include "dynet_like/exec/cell_type.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "batching/dag_builder.h"
#include "batching/planner.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

constexpr std::size_t kNoSum = ~std::size_t{0};
constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

bool has_gradient(const CellInput& input) {
  return input.from == From::port || (input.from == From::member && !input.blocks_gradient);
}

class Inside {
 public:
  Inside(CellType& cell, const TypeTable& types) : cell_(cell), types_(types) {}

  void plan() {
    find_sums();
    find_ports();
    find_steps();
    find_last_readers();
    find_backward_order();
  }

 private:
  /// The inputs whose gradients are summed in one place, as they were recorded.
  struct Sum {
    std::vector<std::uint32_t> inputs;
    std::size_t in_place = 0;  ///< how many of the first have been added where they belong
    bool begun = false;
  };
  /// The inputs of a step that have gradients, each with how many of those before add to the same
  /// sum. The first of them come in order.
  struct Waiting {
    std::vector<std::pair<std::uint32_t, std::size_t>> inputs;
    std::size_t first = 0;  ///< that was not seen to come in order
  };

  const CellPattern& pattern() const { return cell_.pattern; }
  void find_sums();
  std::size_t sum_of_member(std::uint32_t e);
  void find_ports();
  void find_steps();
  void find_last_readers();
  bool takes_sums(std::size_t member, std::uint32_t step);
  void find_backward_order();
  void count_readers();
  void list_gradients();
  void make_ready(std::size_t step);
  void look_at_order(std::size_t step);
  bool comes_in_order(std::uint32_t e, std::size_t before) const;
  void run_backward(std::size_t step);
  template <class F>
  void for_gradients(const CellStep& step, const F& f) const;

  CellType& cell_;
  const TypeTable& types_;
  std::vector<Sum> sums_;  ///< those of ports come first
  std::vector<std::vector<std::size_t>> sums_of_member_;
  std::vector<std::size_t> sum_of_input_;
  std::vector<std::uint32_t> step_of_sum_;  ///< the last that has members which add to it
  std::vector<std::uint32_t> readers_;  ///< by step: inputs that read it and have not run backward
  std::vector<std::size_t> step_of_input_;
  std::vector<Waiting> waiting_;                    ///< by step
  std::set<std::size_t, std::greater<>> ready_;     ///< steps whose readers have run
  std::set<std::size_t, std::greater<>> in_order_;  ///< those of them that come in order
};

void Inside::find_sums() {
  cell_.members.resize(pattern().size());
  cell_.gradients.resize(pattern().inputs.size());
  sums_.resize(pattern().ports);
  sums_of_member_.resize(pattern().size());
  sum_of_input_.assign(pattern().inputs.size(), kNoSum);
  for (std::size_t m = 0; m < pattern().size(); ++m) {
    for (std::uint32_t e = pattern().first_input[m]; e < pattern().first_input[m + 1]; ++e) {
      const CellInput& input = pattern().inputs[e];
      if (input.from == From::member) {
        cell_.members[input.index].last_reader = static_cast<std::uint16_t>(m);
      }
      if (!has_gradient(input)) continue;
      const std::size_t sum = input.from == From::port ? input.index : sum_of_member(e);
      cell_.gradients[e].rank = static_cast<std::uint16_t>(sums_[sum].inputs.size());
      sums_[sum].inputs.push_back(e);
      sum_of_input_[e] = sum;
    }
  }
  for (std::size_t m = 0; m < pattern().size(); ++m) {
    std::size_t covered = 0;
    for (const CellPart& part : cell_.members[m].parts) covered += part.end - part.begin;
    cell_.members[m].is_covered = covered == types_[pattern().members[m]].output_size;
  }
}

std::size_t Inside::sum_of_member(std::uint32_t e) {
  const CellInput& input = pattern().inputs[e];
  std::vector<CellPart>& parts = cell_.members[input.index].parts;
  std::vector<std::size_t>& sums = sums_of_member_[input.index];
  const std::uint32_t begin = input.offset, end = begin + types_.shape(input.shape).size;
  std::size_t p = 0;
  for (; p < parts.size(); ++p) {
    if (parts[p].begin == begin && parts[p].end == end) break;
    if (parts[p].begin < end && begin < parts[p].end) cell_.parts_overlap = true;
  }
  if (p == parts.size()) {
    parts.push_back({begin, end, 0});
    sums.push_back(sums_.size());
    sums_.emplace_back();
  }
  ++parts[p].readers;
  cell_.gradients[e].part = static_cast<std::uint16_t>(p);
  return sums[p];
}

void Inside::find_ports() {
  cell_.ports.resize(pattern().ports);
  for (std::size_t m = 0; m < pattern().size(); ++m) {
    const std::span<const CellInput> inputs = pattern().inputs_of(m);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j].from != From::port) continue;
      CellPort& port = cell_.ports[inputs[j].index];
      if (port.readers++ == 0) {
        port.member = static_cast<std::uint16_t>(m);
        port.input = static_cast<std::uint16_t>(j);
      }
    }
  }
}

// As all nodes are planned; but two that add to one gradient must not be in one call.
void Inside::find_steps() {
  batching::DagBuilder dag;
  std::unordered_map<TypeId, std::uint32_t> types;
  std::vector<std::uint32_t> sources;
  for (std::size_t m = 0; m < pattern().size(); ++m) {
    const auto next = static_cast<std::uint32_t>(types.size());
    const std::uint32_t number = types.try_emplace(pattern().members[m], next).first->second;
    sources.clear();
    for (const CellInput& input : pattern().inputs_of(m)) {
      if (input.from == From::member) sources.push_back(input.index);
    }
    dag.add(number, sources);
  }
  batching::Planner planner;
  const batching::Schedule& schedule = planner.plan(dag.dag(), batching::Policy::automatic);
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    const std::span<const std::uint32_t> batch = schedule.batch(b);
    std::vector<std::uint32_t> left(batch.begin(), batch.end());
    std::sort(left.begin(), left.end());
    while (!left.empty()) {
      CellStep step;
      step.type = pattern().members[left.front()];
      std::vector<std::uint32_t> others;
      for (std::uint32_t m : left) {
        if (!takes_sums(m, static_cast<std::uint32_t>(cell_.steps.size()))) {
          others.push_back(m);
          continue;
        }
        step.members.push_back(static_cast<std::uint16_t>(m));
      }
      cell_.steps.push_back(std::move(step));
      left = std::move(others);
    }
  }
  for (std::uint16_t s = 0; s < cell_.steps.size(); ++s) {
    CellStep& step = cell_.steps[s];
    step.last_reader = s;
    for (std::uint16_t q = 0; q < step.members.size(); ++q) {
      cell_.members[step.members[q]].step = s;
      cell_.members[step.members[q]].place = q;
    }
  }
}

// Every step comes after those that it reads.
void Inside::find_last_readers() {
  for (std::size_t m = 0; m < pattern().size(); ++m) {
    for (const CellInput& input : pattern().inputs_of(m)) {
      if (input.from != From::member) continue;
      CellStep& source = cell_.steps[cell_.members[input.index].step];
      source.last_reader = std::max(source.last_reader, cell_.members[m].step);
    }
  }
}

// Unless the step has another member that adds to one of them.
bool Inside::takes_sums(std::size_t member, std::uint32_t step) {
  const std::uint32_t first = pattern().first_input[member];
  const auto sums = std::span(sum_of_input_).subspan(first, pattern().inputs_of(member).size());
  step_of_sum_.resize(sums_.size(), kNoStep);
  const auto is_taken = [&](std::size_t sum) { return sum != kNoSum && step_of_sum_[sum] == step; };
  if (std::ranges::any_of(sums, is_taken)) return false;
  for (const std::size_t sum : sums) {
    if (sum != kNoSum) step_of_sum_[sum] = step;
  }
  return true;
}

template <class F>
void Inside::for_gradients(const CellStep& step, const F& f) const {
  for (std::uint16_t m : step.members) {
    for (std::uint32_t e = pattern().first_input[m]; e < pattern().first_input[m + 1]; ++e) {
      if (sum_of_input_[e] != kNoSum) f(e);
    }
  }
}

// From the last step to the first, but so that gradients that are summed in one place come in the
// order of recording, wherever that can be.
void Inside::find_backward_order() {
  list_gradients();
  count_readers();
  while (cell_.backward.size() < cell_.steps.size()) {
    run_backward(in_order_.empty() ? *ready_.begin() : *in_order_.begin());
  }
  std::sort(cell_.slots.begin(), cell_.slots.end());
  for (std::size_t i = 0; i < cell_.slots.size(); ++i) {
    cell_.gradients[cell_.slots[i]].slot = static_cast<std::uint16_t>(i);
  }
}

void Inside::list_gradients() {
  step_of_input_.resize(pattern().inputs.size());
  waiting_.resize(cell_.steps.size());
  for (std::size_t step = 0; step < cell_.steps.size(); ++step) {
    std::unordered_map<std::size_t, std::size_t> before;  // by sum
    for_gradients(cell_.steps[step], [&](std::uint32_t e) {
      step_of_input_[e] = step;
      waiting_[step].inputs.push_back({e, before[sum_of_input_[e]]++});
    });
  }
}

void Inside::count_readers() {
  readers_.assign(cell_.steps.size(), 0);
  for (const CellInput& input : pattern().inputs) {
    if (input.from == From::member) ++readers_[cell_.members[input.index].step];
  }
  for (std::size_t step = 0; step < readers_.size(); ++step) {
    if (readers_[step] == 0) make_ready(step);
  }
}

void Inside::make_ready(std::size_t step) {
  ready_.insert(step);
  look_at_order(step);
}

// An input that comes in order does so until its step runs: only that adds to the sum then. So each
// is passed once.
void Inside::look_at_order(std::size_t step) {
  Waiting& waiting = waiting_[step];
  while (waiting.first < waiting.inputs.size()) {
    const auto& [e, before] = waiting.inputs[waiting.first];
    if (!comes_in_order(e, before)) return;
    ++waiting.first;
  }
  in_order_.insert(step);
}

// If so many others are added to the sum before. Of two members that are all that reads something,
// either may come first: a + b = b + a. Of a port there may be other readers.
bool Inside::comes_in_order(std::uint32_t e, std::size_t before) const {
  const std::size_t s = sum_of_input_[e];
  const Sum& sum = sums_[s];
  const bool any_order = sum.inputs.size() <= 2 && s >= cell_.ports.size();
  const std::size_t at = sum.in_place + before;
  return any_order || (at < sum.inputs.size() && sum.inputs[at] == e);
}

// One call must not contribute twice to one place.
void Inside::run_backward(std::size_t step) {
  std::unordered_set<std::size_t> in_call;  // sums
  for_gradients(cell_.steps[step], [&](std::uint32_t e) {
    const std::size_t s = sum_of_input_[e];
    Sum& sum = sums_[s];
    if (in_call.contains(s) || !comes_in_order(e, 0)) {
      cell_.slots.push_back(e);
      return;
    }
    cell_.gradients[e].adds = sum.begun;
    sum.begun = true;
    ++sum.in_place;
    in_call.insert(s);
  });
  ready_.erase(step);
  in_order_.erase(step);
  for (std::uint16_t m : cell_.steps[step].members) {
    for (const CellInput& input : pattern().inputs_of(m)) {
      if (input.from != From::member) continue;
      const std::uint16_t source = cell_.members[input.index].step;
      if (--readers_[source] == 0) make_ready(source);
    }
  }
  // Those that are next may come in order now.
  for (const std::size_t s : in_call) {
    const Sum& sum = sums_[s];
    if (sum.in_place == sum.inputs.size()) continue;
    const std::size_t next = step_of_input_[sum.inputs[sum.in_place]];
    if (ready_.contains(next)) look_at_order(next);
  }
  cell_.backward.push_back(static_cast<std::uint16_t>(step));
}

}  // namespace

CellType make_cell_type(CellPattern pattern, const TypeTable& types) {
  CellType cell;
  cell.pattern = std::move(pattern);
  Inside(cell, types).plan();
  return cell;
}

}  // namespace dynet_like::detail
