// Which inputs have columns, and these as minibatch elements.
#include "dynet_like/tape/columns.h"

#include <algorithm>

#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/labels.h"
#include "dynet_like/tape/views.h"

namespace dynet_like::detail {

namespace {

// A pointer for each of shorter columns would cost more than they do.
constexpr std::uint32_t kFewestRows = 8;

/// How many columns the inputs have, and minibatch elements.
struct Columns {
  unsigned rank = 0;
  std::uint32_t columns = 1, elements = 1, rows = 0;
  bool any = false;  ///< some input has them, in so many dimensions

  bool are_worth_it() const { return rank >= 2 && rows >= kFewestRows; }
};

// Of input j the shape is dim_of(j). Of vectors, the rank is 1, and there are no columns.
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

Columns count(const Tape& tape, const Op& op, std::span<const ValueId> inputs,
              std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  Columns result = count(op, inputs.size(), attributes,
                         [&](unsigned j) -> const Dim& { return tape.shape_of(inputs[j]).dim; });
  result.elements = items_of_numbers(op, op.integers(attributes), numbers);
  for (const ValueId input : inputs) {
    result.elements = std::max(result.elements, tape.value(input).items);
  }
  return result;
}

bool has_all_columns(const Tape& tape, ValueId input, const Columns& all) {
  return tape.shape_of(input).dim.nd == all.rank &&
         tape.shape_of(input).dim[all.rank - 1] == all.columns;
}

// Whether there are numbers for every element, or some that are for all.
bool numbers_fit(const Op& op, std::span<const std::uint32_t> attributes, const Numbers& numbers,
                 std::uint32_t elements) {
  const auto are_enough = [&](std::size_t got, std::size_t each) {
    return got == each || got == each * elements;
  };
  return (op.numbers.random || are_enough(numbers.integers.size(), op.integers(attributes))) &&
         are_enough(numbers.reals.size(), op.numbers.reals);
}

// Whether the input can be taken as it is planned. What has columns has those of all elements or
// one column that serves all; `splits`: it could be taken if every element were by itself.
bool fits(const Tape& tape, ValueId input, bool by_column, const Columns& all, bool& splits) {
  const Value& value = tape.value(input);
  if (value.items != 1 && value.items != all.elements) return false;
  if (!by_column) return value.identity != 0 && value.items == 1;
  const bool has_all = has_all_columns(tape, input, all);
  if (!has_all && tape.shape_of(input).dim[all.rank - 1] != 1) return false;
  splits |= value.items != (has_all ? all.elements : 1);
  return true;
}

// The columns as elements; one that serves all stays one. Matrices with gaps between them are
// copied together first.
ValueId columns_of(Tape& tape, ValueId input, const Columns& all) {
  const Shape& shape = tape.shape_of(input);
  if (shape.dim.nd < all.rank) return input;
  if (!tape.is_contiguous(input)) input = tape.add(ops::identity, std::span(&input, 1));
  Dim column = shape.dim;
  column.nd = all.rank - 1;
  Value view = tape.value(input);
  const ValueId whole = tape.node(view.node).value;
  const bool is_known = tape.shape_of(whole).dim == column;
  view.shape = is_known ? tape.value(whole).shape : tape.cache().shape(column, shape.dtype);
  view.stride = column.batch_size();
  view.items *= shape.dim[all.rank - 1];
  // What came from columns is read as it was made.
  return tape.is_same_stretch(tape.value(whole), view) ? tape.read_as(input, whole)
                                                       : tape.add_view(view);
}

// The numbers of every element for each of its columns; those that are for all stay as they are.
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

// Those of one item, or those that are for all.
Numbers numbers_of_item(const Op& op, std::span<const std::uint32_t> attributes,
                        const Numbers& numbers, std::uint32_t item) {
  const std::size_t integers = op.integers(attributes), reals = op.numbers.reals;
  Numbers result = numbers;
  if (numbers.integers.size() > integers) {
    result.integers = numbers.integers.subspan(item * integers, integers);
  }
  if (numbers.reals.size() > reals) result.reals = numbers.reals.subspan(item * reals, reals);
  return result;
}

}  // namespace

bool may_go_by_column(const Op& op, std::span<const Dim> inputs,
                      std::span<const std::uint32_t> attributes) {
  if (op.batching.by_column == nullptr) return false;
  const auto dim_of = [&](unsigned j) -> const Dim& { return inputs[j]; };
  return count(op, inputs.size(), attributes, dim_of).are_worth_it();
}

std::optional<ByColumn> by_column(Tape& tape, const Op& op, std::span<const ValueId> inputs,
                                  std::span<const std::uint32_t> attributes,
                                  const Numbers& numbers) {
  if (inputs.size() < op.min_inputs || inputs.size() > op.max_inputs) return {};
  const Columns all = count(tape, op, inputs, attributes, numbers);
  if (!all.any || !all.are_worth_it()) return {};
  if (!numbers_fit(op, attributes, numbers, all.elements)) return {};
  bool has_columns = false, has_own = false, splits = false;
  for (unsigned j = 0; j < inputs.size(); ++j) {
    const bool by_column = op.batching.by_column(j, all.rank, attributes);
    if (!fits(tape, inputs[j], by_column, all, splits)) return {};
    has_columns |= by_column && has_all_columns(tape, inputs[j], all);
    has_own |= tape.value(inputs[j]).identity == 0;
  }
  if (!has_columns || !has_own) return {};
  std::vector<Dim> dims;
  dims.reserve(inputs.size());
  for (const ValueId input : inputs) dims.push_back(tape.shape_of(input).dim);
  ByColumn result;
  result.inputs.reserve(inputs.size());
  result.result = op.shape(dims, attributes);
  result.splits = splits;
  result.result.bd = all.elements;
  result.result.check();
  if (splits) return result;
  for (unsigned j = 0; j < inputs.size(); ++j) {
    const bool whole = !op.batching.by_column(j, all.rank, attributes);
    result.inputs.push_back(whole ? inputs[j] : columns_of(tape, inputs[j], all));
  }
  result.integers = for_columns(numbers.integers, op.integers(attributes), all);
  result.reals = for_columns(numbers.reals, op.numbers.reals, all);
  return result;
}

void check_open_inputs(const Tape& tape, const Op& op, std::span<const ValueId> inputs,
                       std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  if (inputs.size() < op.min_inputs || inputs.size() > op.max_inputs)
    return;  // refused by the type
  const unsigned each = op.integers(attributes);
  for (unsigned j = 0; j < inputs.size(); ++j) {
    if (!op.is_open(j)) continue;
    const Dim dim = tape.dim_of(inputs[j]);
    bool fits = dim.nd > 0 && dim.bd == 1 && each > 0;
    for (std::size_t at = 0; fits && at < numbers.integers.size(); at += each) {
      fits = numbers.integers[at] == dim[dim.nd - 1];
    }
    if (fits) continue;
    throw_shape_error(
        op.name,
        "no minibatch and as many columns as the first integer says at place " + std::to_string(j),
        std::span(&dim, 1));
  }
}

// The node has a minibatch of columns; what is seen of it is the matrix.
ValueId Tape::add_by_column(const Op& op, std::span<const ValueId> inputs,
                            std::span<const std::uint32_t> attributes, const Numbers& numbers) {
  const auto columns =
      with_labels(*this, inputs, [&] { return by_column(*this, op, inputs, attributes, numbers); });
  if (!columns.has_value()) return kNoValue;
  if (columns->splits) return add_by_element(op, inputs, attributes, numbers, columns->result);
  const Numbers of_columns{columns->integers, columns->reals};
  Value view = values_[add_one(op, columns->inputs, attributes, of_columns)];
  view.shape = cache_->shape(columns->result.single_batch(), types_->shape(view.shape).dtype);
  view.items = columns->result.bd;
  view.stride = columns->result.batch_size();
  return add_view(view);
}

// So that the bits are those of elements that are recorded in graphs of their own.
ValueId Tape::add_by_element(const Op& op, std::span<const ValueId> inputs,
                             std::span<const std::uint32_t> attributes, const Numbers& numbers,
                             const Dim& result) {
  std::vector<ValueId> elements, own(inputs.size());
  for (std::uint32_t element = 0; element < result.bd; ++element) {
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const bool serves_all = values_[inputs[j]].items == 1;
      own[j] = serves_all ? inputs[j] : pick_minibatch_elements(*this, inputs[j], element, 1);
    }
    const ValueId all = add(op, own, attributes, numbers_of_item(op, attributes, numbers, element));
    elements.push_back(reshape(*this, all, Dim({result.batch_size()})));
  }
  const std::uint32_t along = 1;
  return reshape(*this, add(ops::concatenate, elements, std::span(&along, 1)), result);
}

}  // namespace dynet_like::detail
