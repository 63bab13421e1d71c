// Finds inputs with columns, and turns these into minibatch elements.
#include "dynet_like/tape/columns.h"

#include <algorithm>

#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"

namespace dynet_like::detail {

namespace {

// For shorter columns, a pointer to each would cost more than it saves.
constexpr std::uint32_t kFewestRows = 8;

/// The number of columns and of minibatch elements of the inputs.
struct Columns {
  unsigned rank = 0;
  std::uint32_t columns = 1, elements = 1, rows = 0;
  bool any = false;  ///< some input has columns

  bool are_worth_it() const { return rank >= 2 && rows >= kFewestRows; }
};

// dim_of(j) is the shape of input j. If all are vectors the rank is 1, and there are no columns.
template <class DimOf>
Columns count(const Op& op, std::size_t inputs, std::span<const std::uint32_t> attributes,
              const DimOf& dim_of) {
  Columns result;
  for (unsigned j = 0; j < inputs; ++j) result.rank = std::max(result.rank, dim_of(j).nd);
  for (unsigned j = 0; j < inputs; ++j) {
    if (!op.batching.by_column(j, result.rank, attributes)) continue;
    const Dim& dim = dim_of(j);
    const std::uint32_t columns = dim[result.rank - 1];
    result.columns = std::max(result.columns, columns);
    result.any |= dim.nd == result.rank;
    if (columns > 0) result.rows = std::max(result.rows, dim.batch_size() / columns);
  }
  return result;
}

Columns count(const Tape& tape, const OpCall& call) {
  const auto dim_of = [&](unsigned j) -> const Dim& { return tape.shape_of(call.inputs[j]).dim; };
  Columns result = count(call.op, call.inputs.size(), call.attributes, dim_of);
  result.elements = call.items_of_numbers();
  for (const ValueId input : call.inputs) {
    result.elements = std::max(result.elements, tape.value(input).items);
  }
  return result;
}

bool has_all_columns(const Tape& tape, ValueId input, const Columns& all) {
  return tape.shape_of(input).dim.nd == all.rank &&
         tape.shape_of(input).dim[all.rank - 1] == all.columns;
}

// Whether there are numbers for every element, or numbers that serve all elements.
bool numbers_fit(const OpCall& call, std::uint32_t elements) {
  const auto are_enough = [&](std::size_t got, std::size_t each) {
    return got == each || got == each * elements;
  };
  return (call.op.numbers.random || are_enough(call.numbers.integers.size(), call.integers())) &&
         are_enough(call.numbers.reals.size(), call.op.numbers.reals);
}

// Whether the input can be taken as planned. An input that is split must have the columns of all
// elements, or one column that serves all. Sets `splits` if elements must be recorded one by one.
bool fits(const Tape& tape, ValueId input, bool by_column, const Columns& all, bool& splits) {
  const Value& value = tape.value(input);
  if (value.items != 1 && value.items != all.elements) return false;
  if (!by_column) return value.identity != 0 && value.items == 1;
  const bool has_all = has_all_columns(tape, input, all);
  if (!has_all && tape.shape_of(input).dim[all.rank - 1] != 1) return false;
  splits |= value.items != (has_all ? all.elements : 1);
  return true;
}

// Whether all inputs can be taken, some have columns, and some belong to this graph alone.
bool fit(const Tape& tape, const OpCall& call, const Columns& all, bool& splits) {
  bool has_columns = false, has_own = false;
  for (unsigned j = 0; j < call.inputs.size(); ++j) {
    const ValueId input = call.inputs[j];
    const bool by_column = call.op.batching.by_column(j, all.rank, call.attributes);
    if (!fits(tape, input, by_column, all, splits)) return false;
    has_columns |= by_column && has_all_columns(tape, input, all);
    has_own |= tape.value(input).identity == 0;
  }
  return has_columns && has_own;
}

// The shape of the result, including the minibatch.
Dim result_of(const Tape& tape, const OpCall& call, const Columns& all) {
  std::vector<Dim> dims;
  dims.reserve(call.inputs.size());
  for (const ValueId input : call.inputs) dims.push_back(tape.shape_of(input).dim);
  Dim result = call.op.shape(dims, call.attributes);
  result.bd = all.elements;
  result.check();
  return result;
}

// The columns as minibatch elements; a column that serves all stays one. If there are gaps between
// matrices, they are copied together first.
ValueId columns_of(TapeWriter& writer, ValueId input, const Columns& all) {
  const Tape& tape = writer.tape();
  const Shape& shape = tape.shape_of(input);
  if (shape.dim.nd < all.rank) return input;
  if (!tape.is_contiguous(input)) input = writer.add(ops::identity, std::span(&input, 1));
  Dim column = shape.dim;
  column.nd = all.rank - 1;
  Value view = tape.value(input);
  const ValueId whole = tape.node(view.node).value;
  const bool is_known = tape.shape_of(whole).dim == column;
  view.shape = is_known ? tape.value(whole).shape : tape.cache().shape(column, shape.dtype);
  view.stride = column.batch_size();
  view.items *= shape.dim[all.rank - 1];
  if (!tape.value(whole).is_same_stretch(view)) return writer.add_view(view);
  writer.note_read(input);  // it came from columns, so their node's output is read directly
  return whole;
}

// Repeats the numbers of every element for its columns. Numbers that serve all stay as they are.
template <class Number>
std::vector<Number> for_columns(std::span<const Number> numbers, std::size_t each,
                                const Columns& all) {
  if (numbers.size() <= each) return {numbers.begin(), numbers.end()};
  std::vector<Number> result;
  for (std::size_t at = 0; at < numbers.size(); at += each) {
    const auto of_element = numbers.subspan(at, each);
    for (std::uint32_t column = 0; column < all.columns; ++column) {
      result.insert(result.end(), of_element.begin(), of_element.end());
    }
  }
  return result;
}

// The numbers of one item, or those that serve all.
Numbers numbers_of_item(const OpCall& call, std::uint32_t item) {
  const auto of_item = [&](auto numbers, std::size_t each) {
    return numbers.size() > each ? numbers.subspan(item * each, each) : numbers;
  };
  return {of_item(call.numbers.integers, call.integers()),
          of_item(call.numbers.reals, call.op.numbers.reals)};
}

// For a column or matrix that serves several minibatch elements: records every element separately,
// so that the bits are those of elements in separate graphs.
ValueId add_by_element(TapeWriter& writer, const OpCall& call, const Dim& result) {
  std::vector<ValueId> elements, own(call.inputs.size());
  for (std::uint32_t element = 0; element < result.bd; ++element) {
    std::ranges::transform(call.inputs, own.begin(), [&](ValueId input) {
      const bool serves_all = writer.tape().value(input).items == 1;
      return serves_all ? input : pick_minibatch_elements(writer, input, element, 1);
    });
    const ValueId all = writer.add(call.op, own, call.attributes, numbers_of_item(call, element));
    elements.push_back(reshape(writer, all, Dim({result.batch_size()})));
  }
  const std::uint32_t along = 1;
  return reshape(writer, writer.add(ops::concatenate, elements, std::span(&along, 1)), result);
}

}  // namespace

bool may_go_by_column(const Op& op, std::span<const Dim> inputs,
                      std::span<const std::uint32_t> attributes) {
  if (op.batching.by_column == nullptr) return false;
  const auto dim_of = [&](unsigned j) -> const Dim& { return inputs[j]; };
  const Columns all = count(op, inputs.size(), attributes, dim_of);
  return all.any && all.are_worth_it();
}

// The node has a minibatch of columns; its view, the result, has the shape of the matrix.
std::optional<ValueId> add_by_column(TapeWriter& writer, const OpCall& call) {
  const Tape& tape = writer.tape();
  if (call.inputs.size() < call.op.min_inputs || call.inputs.size() > call.op.max_inputs) return {};
  const Columns all = count(tape, call);
  bool splits = false;
  if (!all.any || !all.are_worth_it() || !numbers_fit(call, all.elements) ||
      !fit(tape, call, all, splits)) {
    return {};
  }
  std::vector<ValueId> inputs;
  const Dim result = with_labels(tape, call.inputs, [&] {
    const Dim dim = result_of(tape, call, all);
    inputs.reserve(call.inputs.size());
    for (unsigned j = 0; j < call.inputs.size() && !splits; ++j) {
      const ValueId input = call.inputs[j];
      inputs.push_back(call.op.batching.by_column(j, all.rank, call.attributes)
                           ? columns_of(writer, input, all)
                           : input);
    }
    return dim;
  });
  if (splits) return add_by_element(writer, call, result);
  const auto integers = for_columns(call.numbers.integers, call.integers(), all);
  const auto reals = for_columns(call.numbers.reals, call.op.numbers.reals, all);
  Value view =
      tape.value(writer.add_one({call.op, inputs, call.attributes, {integers, reals, {}}}));
  view.shape = tape.cache().shape(result.single_batch(), tape.types().shape(view.shape).dtype);
  view.items = result.bd;
  view.stride = result.batch_size();
  return writer.add_view(view);
}

void check_open_inputs(const Tape& tape, const OpCall& call) {
  if (call.inputs.size() < call.op.min_inputs || call.inputs.size() > call.op.max_inputs)
    return;  // the type check throws
  const unsigned each = call.integers();
  const std::span integers = call.numbers.integers;
  for (unsigned j = 0; j < call.inputs.size(); ++j) {
    if (!call.op.is_open(j)) continue;
    const Dim dim = tape.dim_of(call.inputs[j]);
    bool fits = dim.nd > 0 && dim.bd == 1 && each > 0;
    for (std::size_t at = 0; fits && at < integers.size(); at += each) {
      fits = integers[at] == dim[dim.nd - 1];
    }
    if (fits) continue;
    throw_shape_error(
        call.op.name,
        "no minibatch and as many columns as the first integer says at place " + std::to_string(j),
        std::span(&dim, 1));
  }
}

}  // namespace dynet_like::detail
