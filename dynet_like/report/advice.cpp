// Advice: what to write instead, where nodes of one op did not share batches.
#include <algorithm>

#include "dynet_like/report/splits.h"

namespace dynet_like::detail {

namespace {

// Which ops an advice is for.
enum class Of : std::uint8_t {
  op,        ///< the op with this name
  elements,  ///< ops that treat every element alike
  random,    ///< ops that draw random numbers
  any
};

struct Advice {
  Of of;
  std::string_view op;
  Difference difference;
  /// Placeholders: {d}, the dimension along which the op works; {column}, the dimensions of a
  /// column; {most}, the largest number of inputs; {op}, its name. {size} stays as it is.
  std::string_view text;
};

// The first entry that fits is given.
constexpr Advice kAdvice[] = {
    {Of::op, "softmax", Difference::length,
     "segment_softmax(x, {n}, {d}) takes any length; so does attention(q, k, v), which takes the "
     "products with keys and values, too"},
    {Of::op, "log_softmax", Difference::length,
     "log(reshape(segment_softmax(x, {n}, {d}), Dim({column}, n))) takes any length"},
    {Of::op, "sum_dim", Difference::length,
     "segment_sum(x, {n}, {d}) takes any length; for sum_elems(x), of reshape(x, {1, n})"},
    {Of::op, "mean_dim", Difference::length,
     "segment_mean(x, {n}, {d}) takes any length; for mean_elems(x), of reshape(x, {1, n})"},
    {Of::op, "max_dim", Difference::length, "segment_max(x, {n}, {d}) takes any length"},
    {Of::op, "matrix_product", Difference::length, "attention(q, k, v) takes any number of keys"},
    {Of::op, "matrix_product", Difference::shape,
     "attention(q, k, v) takes any numbers of queries and keys"},
    {Of::op, "concatenate", Difference::inputs,
     "do to each expression what you do to every column, without a matrix; for rows of a table, "
     "reshape(lookup(graph, table, rows), {size, n}) is the matrix"},
    {Of::op, "sum", Difference::inputs, "add zeros(graph, dim) until each has {most} inputs"},
    {Of::op, "affine_transform", Difference::inputs,
     "give each {most} inputs: for a missing term, take its weights and zeros(graph, dim)"},
    {Of::op, "pick_range", Difference::arguments,
     "a range of the last dimension needs no node: take the range from transpose(x)"},
    {Of::op, "select", Difference::arguments,
     "gather(x, places, d) takes any number of places if d is the last of two dimensions: of "
     "transpose(x), or of a vector as reshape(x, {1, n})"},
    {Of::elements, "", Difference::length,
     "reshape(x, Dim({1}, n)) makes minibatch elements of the elements, and takes any number"},
    {Of::elements, "", Difference::shape,
     "let what differs be the last dimension: matrices of any number of columns, of 8 rows or "
     "more, are one type"},
    {Of::random, "", Difference::shape,
     "draw minibatch elements, {op}(graph, Dim({size}, n), ...), and reshape them"},
    {Of::any, "", Difference::columns,
     "reshape(x, Dim({column}, n)) makes minibatch elements of columns, and takes any number"},
    {Of::any, "", Difference::arguments, "give all the same arguments, if you can"},
    {Of::any, "", Difference::inputs, "give all the same number of inputs, if you can"},
    {Of::any, "", Difference::constants,
     "input(graph, dim, values) in place of constant(graph, dim, value) makes the numbers data"},
    {Of::op, "lookup", Difference::parameters,
     "one table with the rows of all: add to the row where its own rows begin"},
    {Of::any, "", Difference::parameters,
     "vectors and small matrices can be rows of a table, lookup(graph, table, i): nodes that read "
     "different rows share batches, and each has a copy"},
    {Of::any, "", Difference::call,
     "ask for the values of all samples at once: batch.forward() or batch.compute(expressions), or "
     "let samples wait for each other in for_each_sample"},
    {Of::any, "", Difference::depth,
     "cell(f) or recursion(f) makes one node of many, and the planner has fewer to put in order"},
    {Of::any, "", Difference::length,
     "pad to a few lengths, such as multiples of 8, if the model can tell the padding"},
    {Of::any, "", Difference::shape,
     "pad to a few shapes, such as multiples of 8, if the model can tell the padding"},
};

bool is_elementwise(const Signature& type) {
  const auto by_column = type.op->batching.by_column;
  if (by_column == nullptr || !type.attributes.empty()) return false;
  for (unsigned j = 0; j < type.inputs.size(); ++j) {
    if (!by_column(j, 2, type.attributes)) return false;
  }
  return true;
}

bool fits(const Advice& advice, const Split& split, const Signature& type) {
  if (advice.difference != split.difference) return false;
  switch (advice.of) {
    case Of::op:
      return type.op->name == advice.op;
    case Of::elements:
      return is_elementwise(type);
    case Of::random:
      return type.op->numbers.random && type.inputs.empty();
    case Of::any:
      break;
  }
  return true;
}

void replace(std::string& text, std::string_view what, const std::string& value) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), value);
    at += value.size();
  }
}

std::string sentence(const Split& split, const TypeTable& types) {
  const Signature& type = types[split.types[0]].signature;
  const auto* advice = std::ranges::find_if(
      kAdvice, [&](const Advice& candidate) { return fits(candidate, split, type); });
  std::string text(advice->text);
  replace(text, "{op}", std::string(type.op->name));
  std::uint32_t most = 0;
  for (TypeId id : split.types) most = std::max(most, types[id].inputs);
  replace(text, "{most}", std::to_string(most));
  if (!type.attributes.empty()) replace(text, "{d}", std::to_string(type.attributes[0]));
  if (split.difference <= Difference::columns) {
    Dim column = type.inputs[split.input];
    column.resize(column.nd - 1);
    replace(text, "{column}", column.nd == 0 ? "{1}" : to_string(column));
  }
  return text;
}

}  // namespace

std::string advice(const Split& split, const RunState& run) {
  if (split.difference == Difference::depth &&
      run.options().policy != batching::Policy::automatic) {
    return "let GraphOptions::policy be automatic: it delays nodes that nothing waits for";
  }
  return sentence(split, run.types());
}

}  // namespace dynet_like::detail
