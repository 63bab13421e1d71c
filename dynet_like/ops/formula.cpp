// Records formulas, and derives the steps that compute their values and gradients.
#include "dynet_like/ops/formula.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <type_traits>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/elementwise.h"

namespace dynet_like::ops {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// An input, a constant or a step. `in`: the operands a, b, y and d of a step.
struct Node {
  enum Kind : std::uint8_t { input, constant, step } kind = input;
  Function function = Function::Negate;
  FormulaStep::Part part = FormulaStep::value;
  std::array<std::uint32_t, 4> in = {kNone, kNone, kNone, kNone};
  std::uint64_t number = 0;  // the number of an input, or the bits of a constant

  bool operator==(const Node&) const = default;
};

/// What the slopes of a function are computed from, and which of them are not 0 everywhere.
struct Facts {
  Needs needs;
  bool has_slope[2];
};

template <class F>
constexpr Facts facts_of() {
  constexpr bool compares =
      std::is_base_of_v<formulas::ComparisonFormula, F> || std::is_same_v<F, formulas::Sign>;
  constexpr bool chooses = std::is_base_of_v<formulas::KeepWhere, F>;
  return {F::needs, {!compares, !compares && !chooses}};
}

const Facts& facts_of(Function function) {
#define DYNET_LIKE_FACTS(F) facts_of<formulas::F>(),
  static constexpr Facts all[] = {DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_FACTS)};
#undef DYNET_LIKE_FACTS
  return all[static_cast<std::size_t>(function)];
}

}  // namespace

/// The nodes of a formula. Equal steps are stored once if `merges_equal`.
class FormulaRecorder : public std::enable_shared_from_this<FormulaRecorder> {
 public:
  explicit FormulaRecorder(bool merges_equal) : merges_equal_(merges_equal) {}

  Term input(unsigned number) {
    Node node;
    node.number = number;
    return {shared_from_this(), add(node)};
  }

  static Term apply(Function function, const Term& a, const Term* b = nullptr);

  /// Makes the steps that compute the terms, and the gradients of all inputs.
  Formula finish(std::string_view name, std::span<const Term> terms, unsigned inputs);

 private:
  std::uint32_t add(const Node& node) {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    if (found == nodes_.end()) {
      nodes_.push_back(node);
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    return static_cast<std::uint32_t>(found - nodes_.begin());
  }
  std::uint32_t add_constant(double constant) {
    Node node;
    node.kind = Node::constant;
    node.number = std::bit_cast<std::uint64_t>(constant);
    return add(node);
  }
  std::uint32_t add_step(Function function, std::uint32_t a, std::uint32_t b) {
    Node node;
    node.kind = Node::step;
    node.function = function;
    node.in = {a, b, kNone, kNone};
    if (merges_equal_) return add(node);
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  std::uint32_t node_of(const Term& term) {
    return term.recorder_ == nullptr ? add_constant(term.constant_) : term.node_;
  }

  std::uint32_t gradient_through(std::uint32_t step, unsigned operand, std::uint32_t dy);
  std::vector<std::uint32_t> gradients(std::span<const std::uint32_t> results, unsigned inputs);
  std::vector<std::uint32_t> last_readers(std::span<const std::uint32_t> results,
                                          std::span<const Source> there) const;
  FormulaSteps program(std::span<const std::uint32_t> results, std::span<const Source> there,
                       std::vector<Source> places);
  Source source(std::uint32_t node, std::span<const Source> places);

  const bool merges_equal_;
  std::vector<Node> nodes_;
  std::vector<double> constants_;
};

Term FormulaRecorder::apply(Function function, const Term& a, const Term* b) {
  const auto& recorder = a.recorder_ != nullptr || b == nullptr ? a.recorder_ : b->recorder_;
  if (recorder == nullptr) {
    throw UsageError(
        "[formula] need a term that depends on an input; got constants alone: compute them as "
        "plain numbers");
  }
  if (b != nullptr && b->recorder_ != nullptr && b->recorder_ != recorder) {
    throw UsageError("[formula] need terms of one formula; got one of another");
  }
  const std::uint32_t first = recorder->node_of(a);
  return {recorder,
          recorder->add_step(function, first, b == nullptr ? kNone : recorder->node_of(*b))};
}

// The contribution to the gradient of an operand, given the gradient dy of the step's result.
std::uint32_t FormulaRecorder::gradient_through(std::uint32_t step, unsigned operand,
                                                std::uint32_t dy) {
  Node node = nodes_[step];
  const bool passes_on =
      node.function == Function::Add || (node.function == Function::Subtract && operand == 0);
  if (passes_on) return dy;
  const Needs needs = facts_of(node.function).needs;
  if (needs == Needs::output || needs == Needs::nothing) node.in[0] = node.in[1] = kNone;
  if (needs == Needs::output || needs == Needs::inputs_and_output) node.in[2] = step;
  node.in[3] = dy;
  node.part = operand == 0 ? FormulaStep::slope_0 : FormulaStep::slope_1;
  return add(node);
}

// The gradients of all inputs, from the results backwards. The dys of results are additional
// inputs. Contributions are added in the reverse order of steps and operands, as they are for
// nodes.
std::vector<std::uint32_t> FormulaRecorder::gradients(std::span<const std::uint32_t> results,
                                                      unsigned inputs) {
  const auto end = static_cast<std::uint32_t>(nodes_.size());
  std::vector<std::uint32_t> gradient(end, kNone);
  for (unsigned k = 0; k < results.size(); ++k) gradient[results[k]] = input(inputs + k).node_;
  for (std::uint32_t step = end; step-- > 0;) {
    if (nodes_[step].kind != Node::step || gradient[step] == kNone) continue;
    for (unsigned j = 2; j-- > 0;) {
      const std::uint32_t operand = nodes_[step].in[j];
      if (operand == kNone || nodes_[operand].kind == Node::constant) continue;
      if (!facts_of(nodes_[step].function).has_slope[j]) continue;
      const std::uint32_t more = gradient_through(step, j, gradient[step]);
      std::uint32_t& sum = gradient[operand];
      sum = sum == kNone ? more : add_step(Function::Add, sum, more);
    }
  }
  std::vector<std::uint32_t> of_inputs(gradient.begin(), gradient.begin() + inputs);
  for (std::uint32_t& node : of_inputs) {
    if (node == kNone) node = add_constant(0);
  }
  return of_inputs;
}

Source FormulaRecorder::source(std::uint32_t node, std::span<const Source> places) {
  if (node == kNone) return {};
  if (nodes_[node].kind == Node::step) return places[node];
  if (nodes_[node].kind == Node::input) {
    return {Source::input, static_cast<std::uint32_t>(nodes_[node].number)};
  }
  constants_.push_back(std::bit_cast<double>(nodes_[node].number));
  return {Source::constant, static_cast<std::uint32_t>(constants_.size() - 1)};
}

// For each node that the results need, the last node that reads it; kNone for all others. Nodes
// that are `there` already are available, so what they were computed from is not needed.
std::vector<std::uint32_t> FormulaRecorder::last_readers(std::span<const std::uint32_t> results,
                                                         std::span<const Source> there) const {
  const auto end = static_cast<std::uint32_t>(nodes_.size());
  std::vector<std::uint32_t> readers(end, kNone);
  for (std::uint32_t result : results) readers[result] = end;
  for (std::uint32_t i = end; i-- > 0;) {
    if (readers[i] == kNone || there[i].kind != Source::nowhere) continue;
    for (std::uint32_t in : nodes_[i].in) {
      if (in != kNone && readers[in] == kNone) readers[in] = i;
    }
  }
  return readers;
}

// The steps that the results need. A node without an entry in `places` goes to a slot, which is
// free again after the last step that reads it.
FormulaSteps FormulaRecorder::program(std::span<const std::uint32_t> results,
                                      std::span<const Source> there, std::vector<Source> places) {
  std::vector<std::uint32_t> readers = last_readers(results, there), free;
  FormulaSteps program;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const bool is_needed = readers[i] != kNone && there[i].kind == Source::nowhere;
    if (node.kind != Node::step || !is_needed) continue;
    if (places[i].kind == Source::nowhere) {
      if (free.empty()) free.push_back(program.slots++);
      places[i] = {Source::slot, free.back()};
      free.pop_back();
    }
    const auto in = [&](unsigned j) { return source(node.in[j], places); };
    program.steps.push_back({node.function, node.part, in(0), in(1), in(2), in(3), places[i]});
    for (std::uint32_t read : node.in) {
      if (read == kNone || readers[read] != i || places[read].kind != Source::slot) continue;
      free.push_back(places[read].index);
      readers[read] = kNone;  // once, even if the step reads it twice
    }
  }
  for (std::uint32_t result : results) program.results.push_back(source(result, places));
  return program;
}

// The backward pass can read the outputs, and saved numbers that would be costly to compute again.
Formula FormulaRecorder::finish(std::string_view name, std::span<const Term> terms,
                                unsigned inputs) {
  Formula formula;
  std::vector<std::uint32_t> results;
  for (const Term& term : terms) {
    if (term.recorder_.get() != this || nodes_[term.node_].kind != Node::step) {
      throw UsageError("[" + std::string(name) +
                       "] need a formula that computes something from its inputs; got an input, a "
                       "constant, or a term of another formula");
    }
    const auto known = std::ranges::find(results, term.node_);
    formula.output_of.push_back(static_cast<std::uint32_t>(known - results.begin()));
    if (known == results.end()) results.push_back(term.node_);
  }
  formula.inputs = inputs;
  formula.outputs = static_cast<unsigned>(results.size());
  const auto written = static_cast<std::uint32_t>(nodes_.size());
  const std::vector<std::uint32_t> of_inputs = gradients(results, inputs);
  std::vector<Source> places(nodes_.size());
  for (std::uint32_t i = 0; i < written; ++i) {
    const bool is_step = nodes_[i].kind == Node::step;
    if (is_step && is_costly(nodes_[i].function)) places[i] = {Source::saved, 0};
  }
  for (unsigned k = 0; k < results.size(); ++k) places[results[k]] = {Source::output, k};
  const std::vector<std::uint32_t> readers = last_readers(of_inputs, places);
  for (std::uint32_t i = 0; i < written; ++i) {
    if (places[i].kind != Source::saved) continue;
    places[i] = readers[i] == kNone ? Source() : Source{Source::saved, formula.saved++};
    if (readers[i] != kNone) results.push_back(i);
  }
  formula.backward = program(of_inputs, places, places);
  formula.forward = program(results, std::vector<Source>(nodes_.size()), places);
  formula.constants = constants_;
  return formula;
}

Formula record_formula(std::string_view name, unsigned inputs,
                       const std::function<std::vector<Term>(std::span<const Term>)>& write,
                       bool merges_equal) {
  const auto recorder = std::make_shared<FormulaRecorder>(merges_equal);
  std::vector<Term> terms;
  for (unsigned j = 0; j < inputs; ++j) terms.push_back(recorder->input(j));
  return recorder->finish(name, write(terms), inputs);
}

namespace {
Term term(Function function, const Term& x) { return FormulaRecorder::apply(function, x); }
Term term(Function function, const Term& a, const Term& b) {
  return FormulaRecorder::apply(function, a, &b);
}
}  // namespace

Term operator-(const Term& x) { return term(Function::Negate, x); }
Term operator+(const Term& a, const Term& b) { return term(Function::Add, a, b); }
Term operator-(const Term& a, const Term& b) { return term(Function::Subtract, a, b); }
Term operator*(const Term& a, const Term& b) { return term(Function::Cmult, a, b); }
Term operator/(const Term& a, const Term& b) { return term(Function::Cdiv, a, b); }
Term exp(const Term& x) { return term(Function::Exp, x); }
Term log(const Term& x) { return term(Function::Log, x); }
Term sqrt(const Term& x) { return term(Function::Sqrt, x); }
Term square(const Term& x) { return term(Function::Square, x); }
Term abs(const Term& x) { return term(Function::Abs, x); }
Term tanh(const Term& x) { return term(Function::Tanh, x); }
Term sigmoid(const Term& x) { return term(Function::Sigmoid, x); }
Term relu(const Term& x) { return term(Function::Relu, x); }
Term softplus(const Term& x) { return term(Function::Softplus, x); }
Term log_sigmoid(const Term& x) { return term(Function::LogSigmoid, x); }
Term softsign(const Term& x) { return term(Function::Softsign, x); }
Term gelu(const Term& x) { return term(Function::Gelu, x); }
Term min(const Term& a, const Term& b) { return term(Function::Min, a, b); }
Term max(const Term& a, const Term& b) { return term(Function::Max, a, b); }
Term sign(const Term& x) { return term(Function::Sign, x); }
Term less(const Term& a, const Term& b) { return term(Function::Less, a, b); }
Term less_equal(const Term& a, const Term& b) { return term(Function::LessEqual, a, b); }
Term equal(const Term& a, const Term& b) { return term(Function::Equal, a, b); }
Term where(const Term& condition, const Term& a, const Term& b) {
  return term(Function::KeepWhere, a, condition) + term(Function::DropWhere, b, condition);
}

namespace {

const Op* const kOps[] = {
#define DYNET_LIKE_OP(F) &elementwise<formulas::F>,
    DYNET_LIKE_FORMULA_FUNCTIONS(DYNET_LIKE_OP)
#undef DYNET_LIKE_OP
};
/// Ops of one input and one number.
struct WithNumber {
  const Op* op;
  Function function;
  bool number_first;
};
constexpr WithNumber kWithNumber[] = {
    {&elementwise<formulas::ScalarAdd>, Function::Add, false},
    {&elementwise<formulas::ScalarSubtract>, Function::Subtract, true},
    {&elementwise<formulas::ScalarMultiply>, Function::Cmult, false},
    {&elementwise<formulas::ScalarDivide>, Function::Cdiv, false},
};

}  // namespace

std::optional<Term> apply_elementwise(const Op& op, std::span<const Term> inputs, double real) {
  for (const auto& [with_number, function, number_first] : kWithNumber) {
    if (with_number != &op) continue;
    return number_first ? term(function, real, inputs[0]) : term(function, inputs[0], real);
  }
  const auto found = std::find(std::begin(kOps), std::end(kOps), &op);
  if (found == std::end(kOps)) return std::nullopt;
  const auto function = static_cast<Function>(found - std::begin(kOps));
  return inputs.size() == 1 ? term(function, inputs[0]) : term(function, inputs[0], inputs[1]);
}

bool is_formula_step(const Op& op) {
  return std::ranges::any_of(kWithNumber, [&](const auto& each) { return each.op == &op; }) ||
         std::ranges::find(kOps, &op) != std::end(kOps);
}

}  // namespace dynet_like::ops
