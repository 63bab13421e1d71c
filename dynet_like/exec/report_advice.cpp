// What to write where types of one op did not share batches.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "dynet_like/exec/report_splits.h"

namespace dynet_like::detail {

namespace {

// What an op is, for those that a sentence is for.
enum class Of : std::uint8_t {
  op,        ///< the one with this name
  elements,  ///< does the same to all elements
  random,    ///< draws random numbers
  any
};

struct Advice {
  Of of;
  std::string_view op;
  Difference difference;
  /// {d}: the dimension of the op; {column}: the sizes of a column; {most}: of inputs; {op}
  std::string_view text;
};

// The first that fits counts.
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
     "what is done to every column needs no matrix, do it to each expression; rows of a table are "
     "a matrix without it, reshape(lookup(graph, table, rows), {size, n})"},
    {Of::op, "sum", Difference::inputs, "add zeros(graph, dim) until each has {most} inputs"},
    {Of::op, "affine_transform", Difference::inputs,
     "let each have {most} inputs: a term that is missing is its weights times zeros(graph, dim)"},
    {Of::op, "pick_range", Difference::arguments,
     "a range of the last dimension is no node: take it of transpose(x)"},
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
    {Of::any, "", Difference::arguments, "give all the same arguments, if that can be"},
    {Of::any, "", Difference::inputs, "give all the same number of inputs, if that can be"},
    {Of::any, "", Difference::constants,
     "input(graph, dim, values) in place of constant(graph, dim, value) makes the numbers data"},
    {Of::any, "", Difference::length,
     "fill up to a few lengths, such as multiples of 8, if the model can tell what is filled in"},
    {Of::any, "", Difference::shape,
     "fill up to a few shapes, such as multiples of 8, if the model can tell what is filled in"},
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

// Numbers that differ from type to type: sizes of the last dimension, or of inputs.
struct Range {
  std::uint32_t least = ~0u, most = 0;

  void add(std::uint32_t number) {
    least = std::min(least, number);
    most = std::max(most, number);
  }
};

Range range_of(const Split& split, const TypeTable& types) {
  Range range;
  for (TypeId id : split.types) {
    const NodeType& type = types[id];
    if (split.difference == Difference::inputs) {
      range.add(type.inputs);
    } else if (split.difference <= Difference::columns) {
      const Dim& dim = type.signature.inputs[split.input];
      range.add(dim[dim.nd - 1]);
    }
  }
  return range;
}

std::string sentence(const Split& split, const TypeTable& types) {
  const Signature& type = types[split.types[0]].signature;
  const auto* advice = std::ranges::find_if(
      kAdvice, [&](const Advice& candidate) { return fits(candidate, split, type); });
  std::string text(advice->text);
  replace(text, "{op}", std::string(type.op->name));
  replace(text, "{most}", std::to_string(range_of(split, types).most));
  if (!type.attributes.empty()) replace(text, "{d}", std::to_string(type.attributes[0]));
  if (split.difference <= Difference::columns) {
    Dim column = type.inputs[split.input];
    column.resize(column.nd - 1);
    replace(text, "{column}", column.nd == 0 ? "{1}" : to_string(column));
  }
  return text;
}

// "5 lengths (5 to 9)"
std::string how_many(std::size_t count, Difference difference, const Range& range) {
  std::string text = std::to_string(count);
  switch (difference) {
    case Difference::length:
      text += " lengths";
      break;
    case Difference::columns:
      text += " numbers of columns";
      break;
    case Difference::shape:
      return text + " shapes";
    case Difference::arguments:
      return text + " sets of arguments";
    case Difference::inputs:
      text += " numbers of inputs";
      break;
    case Difference::constants:
      return text + " constants";
  }
  return text + " (" + std::to_string(range.least) + " to " + std::to_string(range.most) + ')';
}

// Splits with one sentence.
struct Cause {
  std::string sentence;
  Difference difference;
  std::vector<std::string_view> ops;
  std::size_t types = 0;  ///< of the op that has most
  Range range;
};

}  // namespace

std::vector<std::string> advice(std::span<const Split> splits, const TypeTable& types) {
  std::vector<Cause> causes;
  for (const Split& split : splits) {
    const std::string text = sentence(split, types);
    auto cause = std::ranges::find(causes, text, &Cause::sentence);
    if (cause == causes.end()) {
      causes.push_back({text, split.difference, {}, 0, {}});
      cause = causes.end() - 1;
    }
    const std::string_view op = types[split.types[0]].op->name;
    if (std::ranges::find(cause->ops, op) == cause->ops.end()) cause->ops.push_back(op);
    cause->types = std::max(cause->types, split.types.size());
    const Range range = range_of(split, types);
    cause->range.add(range.least);
    cause->range.add(range.most);
  }
  std::vector<std::string> sentences;
  for (const Cause& cause : causes) {
    std::string text = how_many(cause.types, cause.difference, cause.range) + " split ";
    for (std::size_t i = 0; i < cause.ops.size(); ++i) {
      text += (i == 0 ? "" : i + 1 < cause.ops.size() ? ", " : " and ");
      text += cause.ops[i];
    }
    sentences.push_back(text + ": " + cause.sentence);
  }
  return sentences;
}

}  // namespace dynet_like::detail
