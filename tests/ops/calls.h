// Calls of every op, and numbers for them: what tests generated from the op table begin with.
#pragma once

#include <bit>
#include <ostream>

#include "dynet_like/core/random.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/ops/structured.h"
#include "tests/support/op_cases.h"
#include "tests/support/precompiled.h"

namespace dynet_like::op_cases {

using dynet_like::testing::bad_cases, dynet_like::testing::good_cases, dynet_like::testing::OpCase;
using dynet_like::testing::formula_ops;

/// One way to call an op.
struct OpCall {
  const Op* op = nullptr;
  OpCase shapes;
  std::string name;  ///< "softmax_2": the op and the number of its case

  std::size_t inputs() const { return shapes.inputs.size(); }
};

inline void PrintTo(const OpCall& call, std::ostream* out) {
  *out << call.op->name;
  for (const Dim& dim : call.shapes.inputs) *out << ' ' << dim;
}

/// Whether the tests are generated for it. Those of attention's dropout are in attention_op_test.
inline bool has_cases(const Op& op) { return op.max_inputs > 0 && &op != &ops::attention_dropout; }

inline bool is_elementwise(const Op& op) {
  bool found = false;
  formulas::visit_all([&]<class F>() { found |= op.name == F::name; });
  return found;
}
/// Whether an item has a matrix of its own with any number of columns, so that items are nodes.
inline bool is_open(const OpCall& call) { return call.op->batching.open_inputs != 0; }

/// Every case of every op, and of ops of formulas.
inline std::vector<OpCall> all_calls() {
  std::vector<OpCall> calls;
  for (const auto ops : {all_ops(), formula_ops()}) {
    for (const Op* op : ops) {
      std::size_t number = 0;
      for (const OpCase& shapes : good_cases(*op)) {
        calls.push_back({op, shapes, std::string(op->name) + "_" + std::to_string(number++)});
      }
    }
  }
  return calls;
}

/// The call with every dimension larger than 1 four times as large.
inline OpCall enlarged(OpCall call) {
  constexpr unsigned kFactor = 4;
  const auto enlarge = [](unsigned size) { return size > 1 ? kFactor * size : size; };
  for (Dim& dim : call.shapes.inputs) {
    for (unsigned i = 0; i < dim.nd; ++i) dim.d[i] = enlarge(dim.d[i]);
  }
  return call;
}

/// Those that a test applies to.
template <class Predicate>
std::vector<OpCall> calls_where(const Predicate& applies) {
  std::vector<OpCall> calls = all_calls();
  std::erase_if(calls, [&](const OpCall& call) { return !applies(call); });
  return calls;
}

inline std::vector<OpCall> calls_with_inputs() {
  return calls_where([](const OpCall& call) { return call.inputs() > 0; });
}

/// Those whose gradient is a derivative.
inline std::vector<OpCall> calls_with_derivatives() {
  return calls_where(
      [](const OpCall& call) { return call.inputs() > 0 && call.op->gradient.is_derivative; });
}

inline std::string name_of_call(const ::testing::TestParamInfo<OpCall>& info) {
  return info.param.name;
}

/// Whether nodes run together only if input j is the same argument for all.
inline bool must_share(const OpCall& call, std::size_t j) {
  return call.op->joins(static_cast<unsigned>(j), call.shapes.attributes) == Join::shared;
}

inline Signature signature_of(const OpCall& call, DType dtype) {
  Signature type;
  type.op = call.op;
  type.dtype = dtype;
  type.inputs = call.shapes.inputs;
  type.shared.assign(call.inputs(), 0);
  type.attributes = call.shapes.attributes;
  type.integers = call.op->integers(type.attributes);
  type.output = call.op->shape(type.inputs, type.attributes);
  type.output_size = type.output.size();
  if (call.op->gradient.saved_size != nullptr) type.saved_size = call.op->gradient.saved_size(type);
  if (call.op->gradient.deferred_size != nullptr)
    type.deferred_size = call.op->gradient.deferred_size(type);
  return type;
}

/// How many digits drawn numbers have. With few of them (multiples of 1/1024) small steps are
/// exact, but so are many sums: where the order of a sum must show, numbers need all their digits.
enum class Digits { few, of_float, of_double };

/// A number in [low, high], at least 0.05 away from the kink; all of it moved by `shift`.
inline double draw_number(const OpCase& shapes, double shift, Random& random, Digits digits) {
  const double low = shapes.low + shift, high = shapes.high + shift;
  for (;;) {
    const double unit = random.uniform() + 0x1p-24 * random.uniform();
    double x = low + (high - low) * unit;
    if (digits == Digits::few) x = std::round(x * 1024) / 1024;
    if (digits == Digits::of_float) x = static_cast<double>(static_cast<float>(x));
    if (x >= low && x <= high && std::abs(x - shift - shapes.kink) >= 0.05) return x;
  }
}

inline std::vector<double> draw_numbers(const OpCase& shapes, const Dim& dim, Random& random,
                                        Digits digits) {
  std::vector<double> numbers(dim.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t element = i % dim.batch_size();
    const bool on_diagonal = element % dim.rows() == element / dim.rows();
    numbers[i] = draw_number(shapes, on_diagonal ? shapes.diagonal : 0, random, digits);
  }
  return numbers;
}

/// Weights of a loss: none of them is zero.
inline std::vector<double> draw_weights(std::size_t n, Random& random) {
  OpCase range;
  range.kink = 0;
  return draw_numbers(range, Dim({static_cast<unsigned>(n)}), random, Digits::of_float);
}

/// What one item of a call is given.
struct Item {
  std::vector<std::vector<double>> inputs;
  std::vector<std::uint32_t> integers;
  std::vector<double> reals;
};

inline Item draw_item(const OpCall& call, Random& random, Digits digits) {
  Item item;
  for (const Dim& dim : call.shapes.inputs) {
    item.inputs.push_back(draw_numbers(call.shapes, dim, random, digits));
  }
  const std::uint32_t limit = call.op->numbers.integer_limit == nullptr
                                  ? 1000
                                  : call.op->numbers.integer_limit(signature_of(call, DType::f32));
  for (unsigned i = 0; i < call.op->integers(call.shapes.attributes) && !is_open(call); ++i) {
    item.integers.push_back(random.below(limit));
  }
  if (is_open(call)) {  // how many columns, those of a segment, and one of them
    const int open = std::countr_zero(call.op->batching.open_inputs);
    const unsigned columns = call.shapes.inputs[open].cols(), begin = random.below(columns);
    const unsigned size = 1 + random.below(columns - begin);
    item.integers = {columns, begin, begin + size, begin + random.below(size)};
    item.integers.resize(call.op->numbers.integers);
  }
  for (double real : call.shapes.reals) {
    const double other = real * (1 - 0.25 * random.uniform());
    item.reals.push_back(static_cast<double>(static_cast<float>(other)));
  }
  return item;
}

inline std::vector<Item> draw_items(const OpCall& call, std::size_t n, Random& random,
                                    Digits digits = Digits::of_double) {
  std::vector<Item> items;
  while (items.size() < n) items.push_back(draw_item(call, random, digits));
  return items;
}

}  // namespace dynet_like::op_cases
