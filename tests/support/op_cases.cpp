// Calls of every op of the library: listed one by one for ops with a shape rule of their own, made
// by the number of inputs and numbers for elementwise ops.
#include "tests/support/op_cases.h"

#include <algorithm>
#include <bit>
#include <map>

#include "dynet_like/graph/formula_op.h"
#include "dynet_like/ops/special_formulas.h"

namespace dynet_like::testing {

namespace {

struct Cases {
  std::vector<std::string_view> ops;
  std::vector<OpCase> good, bad;
};

// Far enough from a singular matrix.
OpCase square_matrix(unsigned n) { return {{Dim({n, n})}, {}, {}, -0.5, 0.5, -100, 4}; }

const std::vector<Cases>& all_cases() {
  static const std::vector<Cases> all = {
      {{"lstm_cell"},
       {{{Dim({15}), Dim({15, 3}), Dim({3})}, {0, 0}},
        {{Dim({20}), Dim({5}), Dim({20, 3}), Dim({3}), Dim({20, 5}), Dim({5})}, {1, 1}},
        {{Dim({76}), Dim({19}), Dim({76, 4}), Dim({4})}, {1, 0}},
        {{Dim({15}), Dim({3}), Dim({3}), Dim({15, 3}), Dim({3}), Dim({15, 3}), Dim({3})}, {2, 0}},
        {{Dim({12}), Dim({2}), Dim({2}), Dim({2}), Dim({12, 6}), Dim({6})}, {3, 1}}},
       {{{Dim({15}), Dim({15, 3}), Dim({4})}, {0, 0}},
        {{Dim({16}), Dim({16, 3}), Dim({3})}, {0, 0}},
        {{Dim({20}), Dim({4}), Dim({20, 3}), Dim({3})}, {1, 0}},
        {{Dim({20}), Dim({5}), Dim({15, 3}), Dim({3})}, {1, 0}},
        {{Dim({20}), Dim({5}), Dim({20, 3}), Dim({3}), Dim({20, 5})}, {1, 0}},
        {{Dim({15}), Dim({15, 3}), Dim({3})}, {1000, 0}},
        {{Dim({15}), Dim({15, 3}), Dim({3})}}}},
      {{"gru_cell"},
       {{{Dim({15}), Dim({15, 5}), Dim({5})}},
        {{Dim({57}), Dim({57, 19}), Dim({19})}},
        {{Dim({15}), Dim({15, 5}), Dim({5}), Dim({15}), Dim({15, 4}), Dim({4})}},
        {{Dim({6}), Dim({6, 2}), Dim({2}), Dim({6}), Dim({6, 7}), Dim({7})}}},
       {{{Dim({15}), Dim({15, 5}), Dim({4})}},
        {{Dim({12}), Dim({15, 5}), Dim({5})}},
        {{Dim({15}), Dim({15, 5}), Dim({5}), Dim({15}), Dim({15, 4}), Dim({5})}},
        {{Dim({15}), Dim({15, 5}), Dim({5}), Dim({15}), Dim({15, 4})}}}},
      {{"dot_product", "squared_distance"},
       {{{Dim({1}), Dim({1})}},
        {{Dim({5}), Dim({5})}},
        {{Dim({35}), Dim({35})}},
        {{Dim({131}), Dim({131})}},
        {{Dim({3, 7}), Dim({3, 7})}}},
       {{{Dim({3}), Dim({4})}}, {{Dim({3, 2}), Dim({2, 3})}}}},
      {{"hinge"},
       {{{Dim({7})}, {0, 1}, {1.0}},
        {{Dim({5, 3})}, {0, 3}, {0.5}},
        {{Dim({5, 3})}, {1, 5}, {1.0}}},
       {{{Dim({5})}, {1, 1}, {1.0}}, {{Dim({5})}, {0}, {1.0}}, {{Dim({5, 3})}, {0, 2}, {1.0}}}},
      {{"poisson_loss"}, {{{Dim({1})}}, {{Dim({1, 1})}, {}, {}, -8, 8}}, {{{Dim({2})}}}},
      {{"inverse", "logdet"},
       {square_matrix(1), square_matrix(2), square_matrix(5)},
       {{{Dim({3, 4})}}, {{Dim({4})}}, {{Dim({2, 2, 2})}}}},
      {{"layer_norm"},
       {{{Dim({5}), Dim({5}), Dim({5})}},
        {{Dim({37}), Dim({37}), Dim({37})}},
        {{Dim({6, 3}), Dim({6}), Dim({6})}},
        {{Dim({19, 4}), Dim({19}), Dim({19})}, {std::bit_cast<std::uint32_t>(0.25f)}},
        {{Dim({3, 2, 2}), Dim({3}), Dim({3})}}},
       {{{Dim({5}), Dim({4}), Dim({5})}},
        {{Dim({5}), Dim({5}), Dim({4})}},
        {{Dim({5, 3}), Dim({5, 3}), Dim({5})}}}},
      {{"rms_norm"},
       {{{Dim({5}), Dim({5})}},
        {{Dim({37}), Dim({37})}},
        {{Dim({6, 3}), Dim({6})}},
        {{Dim({19, 4}), Dim({19})}, {std::bit_cast<std::uint32_t>(0.25f)}},
        {{Dim({3, 2, 2}), Dim({3})}}},
       {{{Dim({5}), Dim({4})}}, {{Dim({5, 3}), Dim({5, 3})}}}},
      {{"matrix_product"},
       {{{Dim({1, 1}), Dim({1})}},
        {{Dim({5, 3}), Dim({3})}},
        {{Dim({33, 17}), Dim({17})}},
        {{Dim({67, 7}), Dim({7})}},
        {{Dim({7, 5}), Dim({5, 4})}},
        {{Dim({4}), Dim({1, 3})}}},
       {{{Dim({3, 4}), Dim({3})}}, {{Dim({3, 4, 2}), Dim({4})}}}},
      {{"affine_transform"},
       {{{Dim({5}), Dim({5, 3}), Dim({3})}},
        {{Dim({37}), Dim({37, 9}), Dim({9}), Dim({37, 18}), Dim({18})}},
        {{Dim({6}), Dim({6, 4}), Dim({4, 3})}},
        {{Dim({70}), Dim({70, 3}), Dim({3})}},
        {{Dim({6, 3}), Dim({6, 4}), Dim({4, 3}), Dim({6, 1}), Dim({1, 3})}}},
       {{{Dim({5}), Dim({5, 3}), Dim({4})}},
        {{Dim({4}), Dim({5, 3}), Dim({3})}},
        {{Dim({5}), Dim({5, 3}), Dim({3}), Dim({6, 2}), Dim({2})}},
        {{Dim({5}), Dim({5, 3}), Dim({3}), Dim({5, 2})}}}},
      {{"sparsemax"}, {{{Dim({1})}}, {{Dim({5})}}, {{Dim({37})}}}, {{{Dim({3, 4})}}}},
      {{"sparsemax_loss"},
       {{{Dim({2})}, {1}}, {{Dim({5})}, {2}}, {{Dim({11})}, {3}}},
       {{{Dim({3, 4})}, {1}}, {{Dim({3})}, {0}}}},
      {{"constrained_softmax"},
       {{{Dim({6}), Dim({6})}, {}, {}, 0.2, 1}, {{Dim({37}), Dim({37})}, {}, {}, 0.03, 0.5}},
       {{{Dim({3}), Dim({4})}}}},
      {{"random_uniform", "random_normal", "random_bernoulli", "random_gumbel"},
       {{{}, {0, 5}, {0.4, 1.5}}, {{}, {0, 3, 4}, {0.9, 2.5}}},
       {}},
      {{"dropout"},
       {{{Dim({5})}, {}, {0.5}}, {{Dim({34})}, {}, {0.2}}, {{Dim({3, 7})}, {}, {0.9}}},
       {}},
      {{"sum", "average"},
       {{{Dim({5})}},
        {{Dim({33}), Dim({33}), Dim({33})}},
        {{Dim({3, 4}), Dim({3, 4})}},
        {{Dim({1}), Dim({1}), Dim({1}), Dim({1})}}},
       {{{Dim({3}), Dim({3}), Dim({4})}}}},
      {{"select"},
       {{{Dim({5})}, {0, 3}},
        {{Dim({5, 3})}, {0, 7}},
        {{Dim({5, 3})}, {1, 2}},
        {{Dim({2, 3, 4})}, {1, 1}}},
       {{{Dim({5})}, {1, 2}}, {{Dim({5})}, {0}}, {{Dim({5})}, {0, 0}}}},
      {{"fill_rows"},
       {{{Dim({5})}, {1}, {-3}}, {{Dim({37, 3})}, {3}, {0.5}}, {{Dim({2, 3, 4})}, {1}, {2}}},
       {{{Dim({5})}, {2}, {1}}, {{Dim({37})}, {2}, {1}}, {{Dim({5})}, {}, {1}}}},
      {{"kmax_pooling"},
       {{{Dim({7})}, {0, 3}},
        {{Dim({5, 3})}, {0, 5}},
        {{Dim({5, 3})}, {1, 1}},
        {{Dim({2, 6, 4})}, {1, 2}}},
       {{{Dim({5})}, {1, 2}}, {{Dim({5})}, {0}}, {{Dim({5})}, {0, 6}}}},
      {{"segment_sum", "segment_max", "segment_softmax"},
       {{{Dim({1, 1})}}, {{Dim({5, 3})}}, {{Dim({33, 9})}}, {{Dim({3, 12})}}},
       {{{Dim({5})}}, {{Dim({2, 3, 4})}}, {{Dim({5, 3})}, {0}}}},
      {{"copy_log_softmax"},  // for words 0 and 1
       {{{Dim({1}), Dim({1}), Dim({1, 1}), Dim({1, 1})}, {}, {}, 0.2, 1.9, 1},
        {{Dim({2}), Dim({1}), Dim({1, 5}), Dim({1, 5})}, {}, {}, 0.2, 1.9, 1},
        {{Dim({5}), Dim({1}), Dim({1, 2}), Dim({1, 2})}, {}, {}, 0.2, 1.9, 1},
        {{Dim({71}), Dim({1}), Dim({1, 9}), Dim({1, 9})}, {}, {}, 0.2, 1.9, 1}},
       {{{Dim({5, 2}), Dim({1}), Dim({1, 2}), Dim({1, 2})}},
        {{Dim({5}), Dim({2}), Dim({1, 2}), Dim({1, 2})}},
        {{Dim({5}), Dim({1}), Dim({2, 2}), Dim({1, 2})}}}},
      {{"chain_log_partition"},  // for tags 0 or, if the number is negative, all tags
       {{{Dim({1, 1}), Dim({1, 1}), Dim({1}), Dim({1}), Dim({1, 1})}, {64}, {}, -0.9, 0.9, 0},
        {{Dim({5, 7}), Dim({5, 5}), Dim({5}), Dim({5}), Dim({1, 7})}, {64}, {}, -0.9, 0.9, 0},
        {{Dim({17, 3}), Dim({17, 17}), Dim({17}), Dim({17}), Dim({1, 3})}, {64}, {}, -0.9, 0.9, 0},
        {{Dim({34, 2}), Dim({34, 34}), Dim({34}), Dim({34}), Dim({1, 2})}, {64}, {}, -0.9, 0.9, 0}},
       {{{Dim({5, 2}), Dim({5, 4}), Dim({5}), Dim({5}), Dim({1, 2})}, {64}},
        {{Dim({5, 2}), Dim({5, 5}), Dim({4}), Dim({5}), Dim({1, 2})}, {64}},
        {{Dim({5, 2}), Dim({5, 5}), Dim({5}), Dim({5, 1}), Dim({1, 2})}, {64}},
        {{Dim({5, 2}), Dim({5, 5}), Dim({5}), Dim({5}), Dim({2, 2})}, {64}},
        {{Dim({5, 2}), Dim({5, 5}), Dim({5}), Dim({5}), Dim({1, 2})}}}},
      // The labels are all 0, as many as there are numbers that are not negative.
      {{"ctc_log_probability"},
       {{{Dim({2, 1}), Dim({1, 1})}, {4096}, {}, -0.9, 0.2, 0},
        {{Dim({5, 7}), Dim({1, 7})}, {4096}, {}, -0.9, 0.2, 0},
        {{Dim({3, 33}), Dim({1, 33})}, {4096}, {}, -0.9, 0.2, 0}},
       {{{Dim({1, 2}), Dim({1, 2})}, {4096}},
        {{Dim({5, 2}), Dim({2, 2})}, {4096}},
        {{Dim({5, 2}), Dim({1, 2})}}}},
      {{"attention"},
       {{{Dim({1}), Dim({1, 1}), Dim({1, 1})}, {1}},
        {{Dim({5}), Dim({5, 7}), Dim({3, 7})}, {1}},
        {{Dim({6}), Dim({6, 4}), Dim({4, 4})}, {2}},
        {{Dim({34}), Dim({34, 37}), Dim({18, 37})}, {2}}},
       {{{Dim({5}), Dim({4, 3}), Dim({2, 3})}, {1}},
        {{Dim({5, 1}), Dim({5, 3}), Dim({2, 3})}, {1}},
        {{Dim({5}), Dim({5, 3}), Dim({3})}, {1}},
        {{Dim({4}), Dim({4, 3}), Dim({4, 3})}, {3}},
        {{Dim({4}), Dim({4, 3}), Dim({5, 3})}, {2}},
        {{Dim({4}), Dim({4, 3}), Dim({4, 3})}}}},
      {{"attention_weights"},
       {{{Dim({1}), Dim({1, 1})}, {1}},
        {{Dim({5}), Dim({5, 7})}, {1}},
        {{Dim({6}), Dim({6, 4})}, {3}},
        {{Dim({34}), Dim({34, 37})}, {2}}},
       {{{Dim({5}), Dim({4, 3})}, {1}},
        {{Dim({5, 1}), Dim({5, 3})}, {1}},
        {{Dim({4}), Dim({4, 3})}, {3}},
        {{Dim({4}), Dim({4, 3})}}}},
      {{"identity"}, {{{Dim({5})}}, {{Dim({3, 19})}}}, {}},
      {{"concatenate"},
       {{{Dim({3}), Dim({5}), Dim({1})}, {0}},
        {{Dim({3, 2}), Dim({3, 4})}, {1}},
        {{Dim({3, 4}), Dim({17, 4}), Dim({2, 4})}, {0}},
        {{Dim({3}), Dim({3})}, {1}},
        {{Dim({2, 3, 2}), Dim({2, 1, 2})}, {1}}},
       {{{Dim({3, 2}), Dim({3, 3})}, {0}}, {{Dim({3}), Dim({3})}, {7}}, {{Dim({3}), Dim({3})}}}},
      {{"pick_range"},
       {{{Dim({9})}, {0, 1}},
        {{Dim({40})}, {0, 19}},
        {{Dim({5, 4})}, {0, 2}},
        {{Dim({5, 4})}, {1, 3}},
        {{Dim({3, 4, 2})}, {1, 2}}},
       {{{Dim({5})}, {0, 6}}, {{Dim({5})}, {1, 1}}, {{Dim({5})}, {0, 0}}, {{Dim({5})}, {0}}}},
      {{"transpose"},
       {{{Dim({3, 5})}, {1, 0}},
        {{Dim({33, 18})}, {1, 0}},
        {{Dim({2, 3, 4})}, {2, 0, 1}},
        {{Dim({4})}, {1, 0}}},
       {{{Dim({3, 5})}, {0, 0}}, {{Dim({3, 5})}, {0}}, {{Dim({3, 5})}}}},
      {{"cross_entropy"},
       {{{Dim({2})}}, {{Dim({5})}}, {{Dim({16})}}, {{Dim({71})}}},
       {{{Dim({3, 4})}}}},
      {{"constant"}, {{{}, {0, 5}, {0.37}}, {{}, {0, 3, 4}, {-2.0}}}, {}},
      {{"lookup"}, {{{Dim({5, 7})}}, {{Dim({2, 3, 4})}}, {{Dim({33, 2})}}}, {{{Dim({5})}}}},
      {{"sum_dim", "mean_dim", "max_dim", "argmax", "cumsum", "logsumexp_dim", "norm_dim",
        "rms_dim", "softmax", "log_softmax"},
       {{{Dim({5})}, {0}},
        {{Dim({37})}, {0}},
        {{Dim({5, 3})}, {0}},
        {{Dim({5, 3})}, {1}},
        {{Dim({19, 6})}, {1}},
        {{Dim({2, 3, 4})}, {1}}},
       {{{Dim({5})}, {1}}, {{Dim({5})}}, {{Dim({5, 3})}, {0, 1}}}},
  };
  return all;
}

const Cases* find_cases(const Op& op) {
  const auto found = std::ranges::find_if(all_cases(), [&](const Cases& cases) {
    return std::ranges::find(cases.ops, op.name) != cases.ops.end();
  });
  return found == all_cases().end() ? nullptr : &*found;
}

// Where an elementwise formula is defined, and where its slope jumps.
struct Domain {
  double low = -1.5, high = 1.5, kink = -100;
};

Domain domain_of(const Op& op) {
  static const std::map<std::string_view, Domain> domains = {{"cdiv", {0.3, 1.5}},
                                                             {"relu", {-1.5, 1.5, 0}},
                                                             {"log", {0.2, 3}},
                                                             {"sqrt", {0.2, 3}},
                                                             {"abs", {-1.5, 1.5, 0}},
                                                             {"elu", {-1.5, 1.5, 0}},
                                                             {"selu", {-1.5, 1.5, 0}},
                                                             {"leaky_relu", {-1.5, 1.5, 0}},
                                                             {"scalar_min", {-1.5, 1.5, 0.3237}},
                                                             {"scalar_max", {-1.5, 1.5, 0.3237}},
                                                             {"bend", {-1.5, 1.5, 0.3237}},
                                                             {"sign", {-1.5, 1.5, 0}},
                                                             {"keep_where", {0.2, 1.5}},
                                                             {"drop_where", {0.2, 1.5}},
                                                             {"logit_loss", {0.05, 0.95}},
                                                             {"tan", {-1.3, 1.3}},
                                                             {"asin", {-0.9, 0.9}},
                                                             {"acos", {-0.9, 0.9}},
                                                             {"acosh", {1.2, 3}},
                                                             {"atanh", {-0.9, 0.9}},
                                                             {"lgamma", {0.3, 4}},
                                                             {"pow", {0.3, 2}},
                                                             {"binary_log_loss", {0.1, 0.9}}};
  const auto found = domains.find(op.name);
  return found == domains.end() ? Domain() : found->second;
}

std::vector<OpCase> elementwise_cases(const Op& op) {
  const Domain domain = domain_of(op);
  const std::vector<double> numbers(op.numbers.reals, 0.37);
  std::vector<OpCase> cases;
  const auto add = [&](const std::vector<Dim>& dims) {
    cases.push_back({dims, {}, numbers, domain.low, domain.high, domain.kink});
  };
  for (const Dim& dim : {Dim({1}), Dim({5}), Dim({33}), Dim({3, 7}), Dim({2, 3, 2})}) {
    add(std::vector<Dim>(op.max_inputs, dim));
  }
  if (op.max_inputs == 2 && op.kernels == nullptr) {
    add({Dim({4, 3}), Dim({1})});
    add({Dim({1}), Dim({19})});
    add({Dim({17, 3}), Dim({17})});
    add({Dim({1, 3}), Dim({5, 3})});
    add({Dim({4, 1, 2}), Dim({1, 3})});
  }
  return cases;
}

bool is_elementwise(const Op& op) {
  bool found = false;
  ops::formulas::visit_all([&]<class F>() { found |= &op == &ops::elementwise<F>; });
  return found || std::ranges::count(formula_ops(), &op) == 1;
}

}  // namespace

std::span<const Op* const> formula_ops() {
  static const FormulaOp mish("mish", [](Term x) { return x * tanh(softplus(x)); });
  static const FormulaOp gates("gates", [](Term f, Term c, Term i, Term u) {
    return sigmoid(f) * c + sigmoid(i) * tanh(u);
  });
  static const FormulaOp bend(
      "bend", [](Term x) { return where(less(x, 0.3237), square(x) / 2, 3 * x - 0.5); });
  static const FormulaOp difference("difference", [](Term a, Term b) { return b - a; });
  static const Op* const all[] = {&mish.op(), &gates.op(), &bend.op(), &difference.op()};
  return all;
}

std::vector<OpCase> good_cases(const Op& op) {
  if (const Cases* const cases = find_cases(op)) return cases->good;
  return is_elementwise(op) ? elementwise_cases(op) : std::vector<OpCase>();
}

std::vector<OpCase> bad_cases(const Op& op) {
  if (const Cases* const cases = find_cases(op)) return cases->bad;
  if (!is_elementwise(op) || op.max_inputs == 1) return {};
  const std::vector<double> numbers(op.numbers.reals, 0.37);
  // The last matrices are computed column by column where they fit.
  return {{{Dim({3}), Dim({4})}, {}, numbers},
          {{Dim({3, 4}), Dim({4, 3})}, {}, numbers},
          {{Dim({12, 3}), Dim({12, 4})}, {}, numbers}};
}

}  // namespace dynet_like::testing
