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
  std::vector<Expression> both = {a, b};
  std::vector<unsigned> rows = {2, 0}, lengths = {1, 3};
};
using Build = std::function<Expression(const Givens&)>;

using E = const Element&;
using G = const Givens&;

/// An op a second time.
struct PlainOp {
  std::string_view name;
  Plain plain;
  Build call;
};

/// All but the elementwise ops, and those that have no kernel.
inline const std::vector<PlainOp>& structured_ops() {
  static const std::vector<PlainOp> all = {
      {"constant", [](E e) { return e.real(); },
       [](G g) { return constant(g.graph, Dim({2}), 0.5f); }},
      {"lookup",
       [](Element e) {
         e.index[e.type.output.nd] = e.integer();
         return e.at(0);
       },
       [](G g) { return lookup(g.graph, g.table, 1); }},
      {"matrix_product", sum_of_products, [](G g) { return parameter(g.graph, g.weights) * g.a; }},
      {"affine_transform", sum_of_products,
       [](G g) {
         return affine_transform({g.b, parameter(g.graph, g.weights), g.a});
       }},
      {"dot_product", [](E e) { return sum_of_pairs(e, std::multiplies<>()); },
       [](G g) { return dot_product(g.a, g.b); }},
      {"squared_distance",
       [](E e) { return sum_of_pairs(e, [](double a, double b) { return (a - b) * (a - b); }); },
       [](G g) { return squared_distance(g.a, g.b); }},
      {"inverse", element_of_inverse, [](G g) { return inverse(parameter(g.graph, g.weights)); }},
      {"logdet", [](E e) { return std::log(determinant(e.x(0), e.type.inputs[0].rows())); },
       [](G g) { return logdet(parameter(g.graph, g.weights)); }},
      {"lstm_cell", [](E e) { return plain_lstm_cell(e.type, e.item, e.index[0]); },
       [](G g) {
         const Expression xs[] = {parameter(g.graph, g.weights), pick(g.a, 0, 1)};
         return lstm_cell(pick(g.b, 0, 1), xs, {}).h;
       }},
      {"gru_cell", [](E e) { return plain_gru_cell(e.type, e.item, e.index[0]); },
       [](G g) {
         const Expression column = reshape(g.a, Dim({12}));
         return gru_cell(pick_range(column, 0, 3), pick(parameter(g.graph, g.weights), 0, 1),
                         pick_range(column, 0, 1));
       }},
      {"sum", sum_of_inputs, [](G g) { return sum(g.both); }},
      {"average", [](E e) { return sum_of_inputs(e) / static_cast<double>(e.type.inputs.size()); },
       [](G g) { return average(g.both); }},
      {"sum_dim", sum_along, [](G g) { return sum_dim(g.a, {1}); }},
      {"mean_dim", [](E e) { return sum_along(e) / e.length(); },
       [](G g) { return mean_dim(g.a, {0}); }},
      {"norm_dim", [](E e) { return root_of_squares(e); }, [](G g) { return l2_norm(g.a); }},
      {"rms_dim", [](E e) { return root_of_squares(e) / std::sqrt(e.length()); },
       [](G g) { return std_elems(g.a); }},
      {"layer_norm", plain_layer_norm,
       [](G g) { return layer_norm(g.a, pick(g.a, 0, 1), pick(g.b, 0, 1)); }},
      {"rms_norm", plain_rms_norm, [](G g) { return rms_norm(g.a, pick(g.b, 0, 1)); }},
      {"max_dim", largest_along, [](G g) { return max_dim(g.a); }},
      {"argmax",
       [](E e) {
         const double x = e.at(0);
         double rest = 0;
         along(e, e.attribute(), [&](double other) { return rest = std::max(rest, other - x); });
         return rest == 0 ? 1 : 0;
       },
       [](G g) { return argmax(g.a, GradientMode::straight_through_gradient); }},
      {"cumsum",
       [](Element e) {
         unsigned& k = e.index[e.attribute()];
         double total = 0;
         for (unsigned last = k, i = 0; i <= last; ++i) total += (k = i, e.at(0));
         return total;
       },
       [](G g) { return cumsum(g.a, 1); }},
      {"logsumexp_dim",
       [](E e) { return std::log(along_line(e, [](double x) { return std::exp(x); })); },
       [](G g) { return logsumexp_dim(g.a, 0); }},
      {"kmax_pooling",
       [](Element e) {
         // The element with so many of the largest before it.
         const unsigned d = e.attribute(), wanted = e.index[d];
         unsigned found = 0;
         for (unsigned i = 0;; ++i) {
           e.index[d] = i;
           const double x = e.at(0);
           const double larger = along(e, d, [&](double other) { return other > x ? 1 : 0; });
           if (larger < e.attribute(1) && found++ == wanted) return x;
         }
       },
       [](G g) { return kmax_pooling(g.a, 2); }},
      {"hinge",
       [](E e) {
         Element chosen = whole(e);
         chosen.index[e.attribute()] = e.integer(e.number());
         const double best = chosen.at(0), margin = e.real();
         return along_line(e, [&](double x) { return std::max(0.0, margin - best + x); }) - margin;
       },
       [](G g) {
         return hinge_dim(g.a, {0, 1, 2, 0});
       }},
      {"sparsemax", [](E e) { return std::max(0.0, e.x(0)[e.index[0]] - plain_threshold(e.x(0))); },
       [](G g) { return sparsemax(reshape(g.a, Dim({12}))); }},
      {"sparsemax_loss",
       [](E e) {
         const double t = plain_threshold(e.x(0)), q = 1.0 / e.item.integers.size();
         double loss = q / 2;
         for (double x : e.x(0)) loss += x > t ? (x * x - t * t) / 2 : 0;
         for (std::uint32_t target : e.item.integers) loss -= q * e.x(0)[target];
         return loss;
       },
       [](G g) {
         return sparsemax_loss(reshape(g.a, Dim({12})), {3, 4});
       }},
      {"constrained_softmax", [](E e) { return plain_bounded(e.x(0), e.x(1), e.index[0]); },
       [](G g) { return constrained_softmax(reshape(g.a, Dim({12})), reshape(g.b, Dim({12}))); }},
      {"poisson_loss",
       [](E e) {
         const double x = e.x(0)[0], count = e.integer();
         return std::exp(x) - count * x + std::lgamma(count + 1);
       },
       [](G g) { return poisson_loss(sum_elems(g.a), 3); }},
      {"random_uniform", [](E e) { return e.real() + (e.real(1) - e.real()) * drawn(e, 0); },
       [](G g) { return random_uniform(g.graph, Dim({3}), -1, 1); }},
      {"random_normal",
       [](E e) {
         const std::size_t odd = (e.integer(3) + e.number()) % 2;
         const double u = drawn(e, -static_cast<int>(odd)) + 0x1p-25;
         const double angle = 2 * std::numbers::pi * drawn(e, 1 - static_cast<int>(odd));
         const double normal =
             std::sqrt(-2 * std::log(u)) * (odd == 0 ? std::cos(angle) : std::sin(angle));
         return e.real() + e.real(1) * normal;
       },
       [](G g) { return random_normal(g.graph, Dim({3})); }},
      {"random_bernoulli", [](E e) { return drawn(e, 0) < e.real() ? e.real(1) : 0; },
       [](G g) { return random_bernoulli(g.graph, Dim({3}), 0.5f); }},
      {"random_gumbel",
       [](E e) {
         const double u = drawn(e, 0) + 0x1p-25;
         return e.real() - e.real(1) * std::log(-std::log(u));
       },
       [](G g) { return random_gumbel(g.graph, Dim({3})); }},
      {"select",
       [](Element e) {
         unsigned& k = e.index[e.attribute()];
         k = e.item.integers[k];
         return e.at(0);
       },
       [](G g) { return select_rows(g.a, g.rows); }},
      {"fill_rows",
       [](E e) {
         const unsigned row = e.index[0];
         const bool is_filled = (e.item.integers[row / 16] >> row % 16 & 1) != 0;
         return is_filled ? e.real() : e.at(0);
       },
       [](G g) { return fill_rows(g.a, g.rows, 7); }},
      {"segment_sum", [](E e) { return over_segment(e, 0, std::plus<>()); },
       [](G g) { return segment_sum(g.a, g.lengths); }},
      {"segment_max",
       [](E e) {
         return over_segment(e, -std::numeric_limits<double>::infinity(),
                             [](double a, double b) { return std::max(a, b); });
       },
       [](G g) { return segment_max(g.a, g.lengths); }},
      {"identity", [](E e) { return e.at(0); },
       // A copy is made where a view of a view would have gaps.
       [](G g) {
         const Expression columns = reshape(g.a, Dim({3}, 4));
         return reshape(pick_range(columns, 0, 2), Dim({8}));
       }},
      {"concatenate", concatenated, [](G g) { return concatenate(g.both); }},
      {"pick_range", picked, [](G g) { return pick_range(g.a, 1, 3); }},
      {"transpose", transposed, [](G g) { return transpose(g.a); }},
      {"softmax", [](E e) { return std::exp(log_of_softmax(e)); },
       [](G g) { return softmax(g.a); }},
      {"log_softmax", log_of_softmax, [](G g) { return log_softmax(g.a, 1); }},
      {"attention",
       [](E e) {
         const unsigned head = e.index[0] / (e.type.output.rows() / e.attribute());
         double sum = 0, total = 0;
         for (unsigned key = e.integer(1); key < e.integer(2); ++key) {
           const double weight = std::exp(attention_score(e, head, key));
           sum += weight;
           total += weight * e.at(2, {e.index[0], key});
         }
         return total / sum;
       },
       [](G g) { return attention(g.a, g.a, g.b); }},
      {"attention_weights",
       [](E e) {
         const auto score = [&](unsigned key) { return attention_score(e, e.index[0], key); };
         double sum = 0;
         for (unsigned key = e.integer(1); key < e.integer(2); ++key) {
           sum += std::exp(score(key) - score(e.integer(3)));
         }
         return 1 / sum;
       },
       [](G g) { return attention_weights(pick(g.a, 0, 1), g.b); }},
      {"copy_log_softmax",
       [](E e) {
         double sum = 0, copied = 0;
         for (const double x : e.x(0)) sum += std::exp(x - e.at(0));
         for (std::size_t k = 0; k < e.x(2).size(); ++k) {
           if (std::floor(e.x(3)[k]) == e.index[0]) copied += e.x(2)[k];
         }
         const double share = 1 / (1 + std::exp(-e.x(1)[0]));
         return std::log(share / sum + (1 - share) * copied);
       },
       [](G g) {
         return copy_log_softmax(pick(g.a, 0, 1), pick_range(pick(g.b, 0, 1), 0, 1),
                                 pick(g.b, 1, 1), {2, 0, 2});
       }},
      {"chain_log_partition", plain_log_partition,
       [](G g) {
         return chain_log_partition(g.a, pick_range(g.a, 0, 3, 1), pick(g.b, 0, 1), pick(g.b, 1, 1),
                                    {2, -1, 0, 1});
       }},
      {"ctc_log_probability", plain_ctc,
       [](G g) {
         return ctc_log_probability(g.a, {1, 0});
       }},
      {"segment_softmax",
       [](E e) {
         const double own = e.at(0, {e.index[0], e.integer(3)});
         return 1 /
                over_segment(e, 0, [&](double sum, double x) { return sum + std::exp(x - own); });
       },
       [](G g) { return segment_softmax(g.a, g.lengths); }},
      {"cross_entropy", loss_of_class,
       [](G g) { return cross_entropy(reshape(g.a, Dim({12})), 3); }},
      {"dropout", dropped, [](G g) { return dropout(g.a, 0.5f); }},
  };
  return all;
}

/// Those of elementwise ops are in plain_elementwise.h.
inline std::map<std::string_view, Plain> plain_formulas() {
  std::map<std::string_view, Plain> all;
  for (const PlainOp& op : structured_ops()) all.emplace(op.name, op.plain);
  for (const auto& [name, plain] : plain_elementwise()) {
    all.emplace(name, of_elementwise(plain.value));
  }
  return all;
}

/// Those of the ops of formulas.
inline std::map<std::string_view, Plain> plain_formula_ops() {
  using L = Long;
  const auto gates = [](E e) {
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    return sigmoid(e.at(0)) * e.at(1) + sigmoid(e.at(2)) * std::tanh(e.at(3));
  };
  return {
      {"mish", of_elementwise([](L x, L, L) { return x * std::tanh(plain::softplus(x)); })},
      {"gates", gates},
      {"bend", of_elementwise([](L x, L, L) { return x < 0.3237L ? x * x / 2 : 3 * x - 0.5L; })},
      {"difference", of_elementwise([](L a, L b, L) { return b - a; })}};
}

}  // namespace dynet_like::op_cases
