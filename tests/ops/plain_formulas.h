// Every op as anybody would write it down, in double, which kernels are compared with, and a call
// of the public function that makes it.
#pragma once

#include <functional>

#include "tests/ops/plain_loops.h"

namespace dynet_like::op_cases {

// What public functions are given: two matrices, a positive one, a table, and where they live.
struct Givens {
  ComputationGraph& graph;
  Parameter weights;
  LookupParameter table;
  Expression a, b;  // {3,4}, all positive
};
using Build = std::function<Expression(const Givens&)>;

/// An op a second time.
struct PlainOp {
  Plain plain;
  Build call;
};

/// All but the elementwise ops, and those that have no kernel.
inline const std::map<std::string_view, PlainOp>& structured_ops() {
  using Type = const Signature&;
  static const std::map<std::string_view, PlainOp> all = {
      {"constant",
       {[](Type, const Item& item, const Index&) { return item.reals[0]; },
        [](const Givens& g) { return constant(g.graph, Dim({2}), 0.5f); }}},
      {"lookup",
       {[](Type type, const Item& item, Index index) {
          index[type.output.nd] = item.integers[0];
          return at(type, item, 0, index);
        },
        [](const Givens& g) { return lookup(g.graph, g.table, 1); }}},
      {"matrix_product",
       {sum_of_products, [](const Givens& g) { return parameter(g.graph, g.weights) * g.a; }}},
      {"affine_transform",
       {sum_of_products,
        [](const Givens& g) {
          return affine_transform({g.b, parameter(g.graph, g.weights), g.a});
        }}},
      {"dot_product",
       {[](Type, const Item& item, const Index&) {
          return sum_of_pairs(item, [](double a, double b) { return a * b; });
        },
        [](const Givens& g) { return dot_product(g.a, g.b); }}},
      {"squared_distance",
       {[](Type, const Item& item, const Index&) {
          return sum_of_pairs(item, [](double a, double b) { return (a - b) * (a - b); });
        },
        [](const Givens& g) { return squared_distance(g.a, g.b); }}},
      {"inverse",
       {element_of_inverse,
        [](const Givens& g) { return inverse(parameter(g.graph, g.weights)); }}},
      {"logdet",
       {[](Type type, const Item& item, const Index&) {
          return std::log(determinant(item.inputs[0], type.inputs[0].rows()));
        },
        [](const Givens& g) { return logdet(parameter(g.graph, g.weights)); }}},
      {"lstm_cell",
       {[](Type type, const Item& item, const Index& index) {
          return plain_lstm_cell(type, item, index[0]);
        },
        [](const Givens& g) {
          const Expression xs[] = {parameter(g.graph, g.weights), pick(g.a, 0, 1)};
          return lstm_cell(pick(g.b, 0, 1), xs, {}).h;
        }}},
      {"gru_cell",
       {[](Type type, const Item& item, const Index& index) {
          return plain_gru_cell(type, item, index[0]);
        },
        [](const Givens& g) {
          const Expression column = reshape(g.a, Dim({12}));
          return gru_cell(pick_range(column, 0, 3), pick(parameter(g.graph, g.weights), 0, 1),
                          pick_range(column, 0, 1));
        }}},
      {"sum",
       {sum_of_inputs,
        [](const Givens& g) {
          return sum({g.a, g.b});
        }}},
      {"average",
       {[](Type type, const Item& item, const Index& index) {
          return sum_of_inputs(type, item, index) / static_cast<double>(type.inputs.size());
        },
        [](const Givens& g) {
          return average({g.a, g.b});
        }}},
      {"sum_dim", {sum_along, [](const Givens& g) { return sum_dim(g.a, {1}); }}},
      {"mean_dim",
       {[](Type type, const Item& item, const Index& index) {
          return sum_along(type, item, index) / type.inputs[0][type.attributes[0]];
        },
        [](const Givens& g) { return mean_dim(g.a, {0}); }}},
      {"norm_dim",
       {[](Type type, const Item& item, const Index& index) {
          return std::sqrt(sum_of_squares_along(type, item, index));
        },
        [](const Givens& g) { return l2_norm(g.a); }}},
      {"rms_dim",
       {[](Type type, const Item& item, const Index& index) {
          const unsigned n = type.inputs[0][type.attributes[0]];
          return std::sqrt(sum_of_squares_along(type, item, index) / n);
        },
        [](const Givens& g) { return std_elems(g.a); }}},
      {"layer_norm",
       {plain_layer_norm,
        [](const Givens& g) { return layer_norm(g.a, pick(g.a, 0, 1), pick(g.b, 0, 1)); }}},
      {"rms_norm",
       {plain_rms_norm, [](const Givens& g) { return rms_norm(g.a, pick(g.b, 0, 1)); }}},
      {"max_dim",
       {[](Type type, const Item& item, const Index& index) {
          return largest_along(type, item, index);
        },
        [](const Givens& g) { return max_dim(g.a); }}},
      {"argmax",
       {[](Type type, const Item& item, Index index) {
          const double x = at(type, item, 0, index);
          double rest = 0;
          along(type, item, index, type.attributes[0],
                [&](double other) { return rest = std::max(rest, other - x); });
          return rest == 0 ? 1 : 0;
        },
        [](const Givens& g) { return argmax(g.a, GradientMode::straight_through_gradient); }}},
      {"cumsum",
       {[](Type type, const Item& item, Index index) {
          unsigned& k = index[type.attributes[0]];
          double total = 0;
          for (unsigned last = k, i = 0; i <= last; ++i) total += (k = i, at(type, item, 0, index));
          return total;
        },
        [](const Givens& g) { return cumsum(g.a, 1); }}},
      {"logsumexp_dim",
       {[](Type type, const Item& item, const Index& index) {
          return std::log(along(type, item, whole_index(type, index), type.attributes[0],
                                [](double x) { return std::exp(x); }));
        },
        [](const Givens& g) { return logsumexp_dim(g.a, 0); }}},
      {"kmax_pooling",
       {[](Type type, const Item& item, Index index) {
          // The element with so many of the largest before it.
          const unsigned d = type.attributes[0], wanted = index[d];
          unsigned found = 0;
          for (unsigned i = 0;; ++i) {
            index[d] = i;
            const double x = at(type, item, 0, index);
            const double larger =
                along(type, item, index, d, [&](double other) { return other > x ? 1 : 0; });
            if (larger < type.attributes[1] && found++ == wanted) return x;
          }
        },
        [](const Givens& g) { return kmax_pooling(g.a, 2); }}},
      {"hinge",
       {[](Type type, const Item& item, const Index& index) {
          Index chosen = whole_index(type, index);
          chosen[type.attributes[0]] = item.integers[element_of(type.output, index)];
          const double best = at(type, item, 0, chosen), margin = item.reals[0];
          return along(type, item, chosen, type.attributes[0],
                       [&](double x) { return std::max(0.0, margin - best + x); }) -
                 margin;
        },
        [](const Givens& g) {
          return hinge_dim(g.a, {0, 1, 2, 0});
        }}},
      {"sparsemax",
       {[](Type, const Item& item, const Index& index) {
          return std::max(0.0, item.inputs[0][index[0]] - plain_threshold(item.inputs[0]));
        },
        [](const Givens& g) { return sparsemax(reshape(g.a, Dim({12}))); }}},
      {"sparsemax_loss",
       {[](Type, const Item& item, const Index&) {
          const double t = plain_threshold(item.inputs[0]), q = 1.0 / item.integers.size();
          double loss = q / 2;
          for (double x : item.inputs[0]) loss += x > t ? (x * x - t * t) / 2 : 0;
          for (std::uint32_t target : item.integers) loss -= q * item.inputs[0][target];
          return loss;
        },
        [](const Givens& g) {
          return sparsemax_loss(reshape(g.a, Dim({12})), {3, 4});
        }}},
      {"constrained_softmax",
       {[](Type, const Item& item, const Index& index) {
          return plain_bounded(item.inputs[0], item.inputs[1], index[0]);
        },
        [](const Givens& g) {
          return constrained_softmax(reshape(g.a, Dim({12})), reshape(g.b, Dim({12})));
        }}},
      {"poisson_loss",
       {[](Type, const Item& item, const Index&) {
          const double x = item.inputs[0][0], count = item.integers[0];
          return std::exp(x) - count * x + std::lgamma(count + 1);
        },
        [](const Givens& g) { return poisson_loss(sum_elems(g.a), 3); }}},
      {"random_uniform",
       {[](Type type, const Item& item, const Index& index) {
          return item.reals[0] + (item.reals[1] - item.reals[0]) * drawn(type, item, index, 0);
        },
        [](const Givens& g) { return random_uniform(g.graph, Dim({3}), -1, 1); }}},
      {"random_normal",
       {[](Type type, const Item& item, const Index& index) {
          const std::size_t odd = (item.integers[3] + element_of(type.output, index)) % 2;
          const double u = drawn(type, item, index, -static_cast<int>(odd)) + 0x1p-25;
          const double angle =
              2 * std::numbers::pi * drawn(type, item, index, 1 - static_cast<int>(odd));
          const double normal =
              std::sqrt(-2 * std::log(u)) * (odd == 0 ? std::cos(angle) : std::sin(angle));
          return item.reals[0] + item.reals[1] * normal;
        },
        [](const Givens& g) { return random_normal(g.graph, Dim({3})); }}},
      {"random_bernoulli",
       {[](Type type, const Item& item, const Index& index) {
          return drawn(type, item, index, 0) < item.reals[0] ? item.reals[1] : 0;
        },
        [](const Givens& g) { return random_bernoulli(g.graph, Dim({3}), 0.5f); }}},
      {"random_gumbel",
       {[](Type type, const Item& item, const Index& index) {
          const double u = drawn(type, item, index, 0) + 0x1p-25;
          return item.reals[0] - item.reals[1] * std::log(-std::log(u));
        },
        [](const Givens& g) { return random_gumbel(g.graph, Dim({3})); }}},
      {"select",
       {[](Type type, const Item& item, Index index) {
          unsigned& k = index[type.attributes[0]];
          k = item.integers[k];
          return at(type, item, 0, index);
        },
        [](const Givens& g) {
          return select_rows(g.a, {2, 0});
        }}},
      {"fill_rows",
       {[](Type type, const Item& item, const Index& index) {
          const unsigned row = index[0];
          const bool is_filled = (item.integers[row / 16] >> row % 16 & 1) != 0;
          return is_filled ? item.reals[0] : at(type, item, 0, index);
        },
        [](const Givens& g) {
          return fill_rows(g.a, {2, 0}, 7);
        }}},
      {"segment_sum",
       {[](Type type, const Item& item, const Index& index) {
          return over_segment(type, item, index, 0, std::plus<>());
        },
        [](const Givens& g) {
          return segment_sum(g.a, {1, 3});
        }}},
      {"segment_max",
       {[](Type type, const Item& item, const Index& index) {
          return over_segment(type, item, index, -std::numeric_limits<double>::infinity(),
                              [](double a, double b) { return std::max(a, b); });
        },
        [](const Givens& g) {
          return segment_max(g.a, {1, 3});
        }}},
      {"identity",
       {[](Type type, const Item& item, const Index& index) { return at(type, item, 0, index); },
        // A copy is made where a view of a view would have gaps.
        [](const Givens& g) {
          const Expression columns = reshape(g.a, Dim({3}, 4));
          return reshape(pick_range(columns, 0, 2), Dim({8}));
        }}},
      {"concatenate",
       {concatenated,
        [](const Givens& g) {
          return concatenate({g.a, g.b});
        }}},
      {"pick_range", {picked, [](const Givens& g) { return pick_range(g.a, 1, 3); }}},
      {"transpose", {transposed, [](const Givens& g) { return transpose(g.a); }}},
      {"softmax",
       {[](Type type, const Item& item, const Index& index) {
          return std::exp(log_of_softmax(type, item, index));
        },
        [](const Givens& g) { return softmax(g.a); }}},
      {"log_softmax", {log_of_softmax, [](const Givens& g) { return log_softmax(g.a, 1); }}},
      {"attention",
       {[](Type type, const Item& item, const Index& index) {
          const unsigned head = index[0] / (type.output.rows() / type.attributes[0]);
          double sum = 0, total = 0;
          for (unsigned key = item.integers[1]; key < item.integers[2]; ++key) {
            const double weight = std::exp(attention_score(type, item, head, key));
            sum += weight;
            total += weight * at(type, item, 2, {index[0], key});
          }
          return total / sum;
        },
        [](const Givens& g) { return attention(g.a, g.a, g.b); }}},
      {"attention_weights",
       {[](Type type, const Item& item, const Index& index) {
          const auto score = [&](unsigned key) {
            return attention_score(type, item, index[0], key);
          };
          double sum = 0;
          for (unsigned key = item.integers[1]; key < item.integers[2]; ++key) {
            sum += std::exp(score(key) - score(item.integers[3]));
          }
          return 1 / sum;
        },
        [](const Givens& g) { return attention_weights(pick(g.a, 0, 1), g.b); }}},
      {"copy_log_softmax",
       {[](Type type, const Item& item, const Index& index) {
          double sum = 0, copied = 0;
          for (const double x : item.inputs[0]) sum += std::exp(x - at(type, item, 0, index));
          for (std::size_t k = 0; k < item.inputs[2].size(); ++k) {
            if (std::floor(item.inputs[3][k]) == index[0]) copied += item.inputs[2][k];
          }
          const double share = 1 / (1 + std::exp(-item.inputs[1][0]));
          return std::log(share / sum + (1 - share) * copied);
        },
        [](const Givens& g) {
          return copy_log_softmax(pick(g.a, 0, 1), pick_range(pick(g.b, 0, 1), 0, 1),
                                  pick(g.b, 1, 1), {2, 0, 2});
        }}},
      {"chain_log_partition",
       {[](Type type, const Item& item, const Index&) { return plain_log_partition(type, item); },
        [](const Givens& g) {
          return chain_log_partition(g.a, pick_range(g.a, 0, 3, 1), pick(g.b, 0, 1),
                                     pick(g.b, 1, 1), {2, -1, 0, 1});
        }}},
      {"ctc_log_probability",
       {[](Type type, const Item& item, const Index&) { return plain_ctc(type, item); },
        [](const Givens& g) {
          return ctc_log_probability(g.a, {1, 0});
        }}},
      {"segment_softmax",
       {[](Type type, const Item& item, const Index& index) {
          const double own = at(type, item, 0, {index[0], item.integers[3]});
          return 1 / over_segment(type, item, index, 0,
                                  [&](double sum, double x) { return sum + std::exp(x - own); });
        },
        [](const Givens& g) {
          return segment_softmax(g.a, {1, 3});
        }}},
      {"cross_entropy",
       {[](Type, const Item& item, const Index&) { return loss_of_class(item); },
        [](const Givens& g) { return cross_entropy(reshape(g.a, Dim({12})), 3); }}},
      {"dropout", {dropped, [](const Givens& g) { return dropout(g.a, 0.5f); }}},
  };
  return all;
}

/// Those of elementwise ops are in plain_elementwise.h.
inline std::map<std::string_view, Plain> plain_formulas() {
  std::map<std::string_view, Plain> all;
  for (const auto& [name, reference] : structured_ops()) all.emplace(name, reference.plain);
  for (const auto& [name, plain] : plain_elementwise()) {
    all.emplace(name, of_elementwise(plain.value));
  }
  return all;
}

/// Those of the ops of formulas.
inline std::map<std::string_view, Plain> plain_formula_ops() {
  using L = Long;
  const auto gates = [](const Signature& type, const Item& item, const Index& index) {
    const auto x = [&](std::size_t j) { return at(type, item, j, index); };
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    return sigmoid(x(0)) * x(1) + sigmoid(x(2)) * std::tanh(x(3));
  };
  return {
      {"mish", of_elementwise([](L x, L, L) { return x * std::tanh(plain::softplus(x)); })},
      {"gates", gates},
      {"bend", of_elementwise([](L x, L, L) { return x < 0.3237L ? x * x / 2 : 3 * x - 0.5L; })},
      {"difference", of_elementwise([](L a, L b, L) { return b - a; })}};
}

}  // namespace dynet_like::op_cases
