// Decides which members share a call, and the order of steps, forward and backward.
#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "batching/dag_builder.h"
#include "batching/planner.h"
#include "dynet_like/program/passes.h"

namespace dynet_like::detail {

namespace {

using From = Program::Input::From;

class Order {
 public:
  Order(Program& program, const Sums& sums)
      : program_(program), sums_(sums), next_(sums.inputs.size(), 0) {}

  void find() {
    find_steps();
    find_hoisted();
    find_backward();
  }

 private:
  /// The inputs of a step that have gradients. Each has the number of inputs before it in this step
  /// that contribute to the same sum. The first inputs come in order.
  struct Waiting {
    std::vector<std::pair<std::uint32_t, std::size_t>> inputs;
    std::size_t first = 0;  ///< the first one that is not yet known to come in order
  };

  void find_steps();
  void add_steps(std::vector<std::uint32_t> members);
  bool takes_sums(std::size_t member, std::uint32_t step);
  void find_hoisted();
  bool reads_state(const Program::Step& step) const;
  void find_backward();
  void list_gradients();
  void count_readers();
  void make_ready(std::size_t step);
  void look_at_order(std::size_t step);
  bool comes_in_order(std::uint32_t e, std::size_t before) const;
  void run_backward(std::size_t step);
  template <class F>
  void for_gradients(const Program::Step& step, const F& f) const;

  Program& program_;
  const Sums& sums_;
  std::vector<std::size_t> next_;           ///< by sum: which of its inputs comes next
  std::vector<std::uint32_t> step_of_sum_;  ///< the last step that contributes to the sum
  std::vector<std::uint32_t> readers_;  ///< by step: inputs that read it and have not run backward
  std::vector<std::size_t> step_of_input_;
  std::vector<Waiting> waiting_;                    ///< by step
  std::set<std::size_t, std::greater<>> ready_;     ///< steps whose readers have run
  std::set<std::size_t, std::greater<>> in_order_;  ///< the ready steps that come in order
};

// Members are planned like nodes, but two that contribute to one gradient must not be in one call.
void Order::find_steps() {
  batching::DagBuilder dag;
  std::unordered_map<TypeId, std::uint32_t> types;
  std::vector<std::uint32_t> sources;
  for (std::size_t m = 0; m < program_.members.size(); ++m) {
    const auto next = static_cast<std::uint32_t>(types.size());
    const std::uint32_t number = types.try_emplace(program_.members[m].type, next).first->second;
    sources.clear();
    for (const Program::Input& input : program_.inputs_of(m)) {
      if (input.from == From::member) sources.push_back(input.index);
    }
    dag.add(number, sources);
  }
  step_of_sum_.assign(sums_.inputs.size(), Sums::none);
  batching::Planner planner;
  const batching::Schedule& schedule = planner.plan(dag.dag(), batching::Policy::automatic);
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    const std::span<const std::uint32_t> batch = schedule.batch(b);
    add_steps({batch.begin(), batch.end()});
  }
}

void Order::add_steps(std::vector<std::uint32_t> left) {
  std::ranges::sort(left);
  while (!left.empty()) {
    const auto s = static_cast<std::uint16_t>(program_.steps.size());
    Program::Step step;
    step.type = program_.members[left.front()].type;
    std::vector<std::uint32_t> others;
    for (const std::uint32_t m : left) {
      if (!step.members.empty() && !takes_sums(m, s)) {
        others.push_back(m);
        continue;
      }
      if (step.members.empty()) takes_sums(m, s);
      program_.members[m].step = s;
      program_.members[m].position = static_cast<std::uint16_t>(step.members.size());
      step.members.push_back(static_cast<std::uint16_t>(m));
    }
    program_.steps.push_back(std::move(step));
    left = std::move(others);
  }
}

// Fails if another member of the step contributes to one of the sums.
bool Order::takes_sums(std::size_t member, std::uint32_t step) {
  const Program::Member& m = program_.members[member];
  const auto sums = std::span(sums_.of_input).subspan(m.first_input, m.inputs);
  const auto is_taken = [&](std::uint32_t sum) {
    return sum != Sums::none && step_of_sum_[sum] == step;
  };
  if (std::ranges::any_of(sums, is_taken)) return false;
  for (const std::uint32_t sum : sums) {
    if (sum != Sums::none) step_of_sum_[sum] = step;
  }
  return true;
}

// A step comes after the steps that it reads.
void Order::find_hoisted() {
  for (Program::Step& step : program_.steps) step.is_hoisted = !reads_state(step);
}

bool Order::reads_state(const Program::Step& step) const {
  return std::ranges::any_of(step.members, [&](std::uint16_t m) {
    return std::ranges::any_of(program_.inputs_of(m), [&](const Program::Input& input) {
      return (input.from == From::port && program_.ports[input.index].is_state) ||
             (input.from == From::member &&
              !program_.steps[program_.members[input.index].step].is_hoisted);
    });
  });
}

template <class F>
void Order::for_gradients(const Program::Step& step, const F& f) const {
  for (const std::uint16_t m : step.members) {
    const Program::Member& member = program_.members[m];
    for (std::uint32_t e = member.first_input; e < member.first_input + member.inputs; ++e) {
      if (sums_.of_input[e] != Sums::none) f(e);
    }
  }
}

// From the last step to the first, except that contributions to one sum come in order wherever
// possible. Hoisted steps run after all levels.
void Order::find_backward() {
  list_gradients();
  count_readers();
  while (program_.backward.size() < program_.steps.size()) {
    run_backward(in_order_.empty() ? *ready_.begin() : *in_order_.begin());
  }
  std::stable_partition(program_.backward.begin(), program_.backward.end(),
                        [&](std::uint16_t s) { return !program_.steps[s].is_hoisted; });
}

void Order::list_gradients() {
  step_of_input_.resize(program_.inputs.size());
  waiting_.resize(program_.steps.size());
  for (std::size_t step = 0; step < program_.steps.size(); ++step) {
    std::unordered_map<std::uint32_t, std::size_t> before;  // by sum
    for_gradients(program_.steps[step], [&](std::uint32_t e) {
      step_of_input_[e] = step;
      waiting_[step].inputs.push_back({e, before[sums_.of_input[e]]++});
    });
  }
}

void Order::count_readers() {
  readers_.assign(program_.steps.size(), 0);
  for (const Program::Input& input : program_.inputs) {
    if (input.from == From::member) ++readers_[program_.members[input.index].step];
  }
  for (std::size_t step = 0; step < readers_.size(); ++step) {
    if (readers_[step] == 0) make_ready(step);
  }
}

void Order::make_ready(std::size_t step) {
  ready_.insert(step);
  look_at_order(step);
}

// An input that comes in order stays so until its step runs, since no other step adds to the sum
// then. So each input is checked once.
void Order::look_at_order(std::size_t step) {
  Waiting& waiting = waiting_[step];
  while (waiting.first < waiting.inputs.size()) {
    const auto& [e, before] = waiting.inputs[waiting.first];
    if (!comes_in_order(e, before)) return;
    ++waiting.first;
  }
  in_order_.insert(step);
}

// Whether the input is next in its sum, after `before` others.
bool Order::comes_in_order(std::uint32_t e, std::size_t before) const {
  const std::vector<std::uint32_t>& inputs = sums_.inputs[sums_.of_input[e]];
  const std::size_t at = next_[sums_.of_input[e]] + before;
  return at < inputs.size() && inputs[at] == e;
}

void Order::run_backward(std::size_t step) {
  std::unordered_set<std::uint32_t> moved;  // sums
  for_gradients(program_.steps[step], [&](std::uint32_t e) {
    if (!comes_in_order(e, 0)) return;
    ++next_[sums_.of_input[e]];
    moved.insert(sums_.of_input[e]);
  });
  ready_.erase(step);
  in_order_.erase(step);
  for (const std::uint16_t m : program_.steps[step].members) {
    for (const Program::Input& input : program_.inputs_of(m)) {
      if (input.from != From::member) continue;
      const std::uint16_t source = program_.members[input.index].step;
      if (--readers_[source] == 0) make_ready(source);
    }
  }
  // Inputs that are next now may come in order.
  for (const std::uint32_t sum : moved) {
    if (next_[sum] == sums_.inputs[sum].size()) continue;
    const std::size_t next = step_of_input_[sums_.inputs[sum][next_[sum]]];
    if (ready_.contains(next)) look_at_order(next);
  }
  program_.backward.push_back(static_cast<std::uint16_t>(step));
}

}  // namespace

void order_steps(Program& program, const Sums& sums) { Order(program, sums).find(); }

}  // namespace dynet_like::detail
