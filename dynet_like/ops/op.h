// What an operation is: facts that recording, batching, kernels and the generated tests share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/core/dtype.h"

namespace dynet_like::ops {

struct Op;
struct Kernels;

/// How an input joins a batch: *stacked*, one item per node; *shared*, only nodes with the same
/// argument batch; *broadcast*, shared if the argument depends on parameters and constants alone,
/// else stacked.
enum class Join : std::uint8_t { stacked, shared, broadcast };

/// What the backward kernel reads besides the numbers, the saved items and dy.
enum class Needs : std::uint8_t { nothing, inputs, output, inputs_and_output };

/// What one node contributes to the gradient of an argument that depends on parameters alone. Of an
/// op that defers gradients, dy below is what its backward kernel has left for that argument.
enum class SharedGradient : std::uint8_t {
  dense,          ///< something that the backward kernel writes
  sum,            ///< dy itself (added over columns if dy has more of them)
  outer_product,  ///< dy x', where x is the next input
  rows,           ///< dy, in the row of the table that the node's integer names
  listed          ///< whatever the run of a recursion lists
};

/// A type without its shared arguments: what shape rules and kernels look at.
/// All shapes are those of one item; `shared[j]` says that input j is one argument for all items.
struct Signature {
  const Op* op = nullptr;
  DType dtype = DType::f32;
  std::vector<Dim> inputs;
  std::vector<std::uint8_t> shared;
  std::vector<std::uint32_t> attributes;
  Dim output;
  std::size_t output_size = 0;
  std::size_t saved_size = 0;
  std::size_t deferred_size = 0;
  std::uint32_t integers = 0;  ///< of every item
};

/// What is special about an op for those who run graphs.
enum class Role : std::uint8_t {
  computed,   ///< nothing: its kernel gives its value
  input,      ///< data of the user
  parameter,  ///< a parameter's values
  table,      ///< a whole table of rows
  row,        ///< rows of a table
  copy,       ///< the same values elsewhere
  product,    ///< a matrix times columns
  recursion   ///< a function of every vertex of a structure: a program, not a kernel, runs it
};

/// How nodes of an op join a batch.
struct Batching {
  /// Null: all inputs are stacked.
  Join (*join)(unsigned input, std::span<const std::uint32_t> attributes) = nullptr;
  /// Of an op that does the same to every column: whether input j is taken column by column along
  /// the last of `rank` dimensions, or every column needs all of it. Columns are then recorded as
  /// minibatch elements, so that matrices of any number of columns batch.
  bool (*by_column)(unsigned input, unsigned rank,
                    std::span<const std::uint32_t> attributes) = nullptr;
  /// Bits of inputs with any number of columns: their last dimension is no part of the type, which
  /// has 0 there. All items of a node have the same such input, with as many columns as the first
  /// integer of an item says. Where consecutive items have one destination, their sum, in their
  /// order, goes there as the flag of the first says.
  std::uint32_t open_inputs = 0;
  /// Whether a node of parameters and constants alone is computed once for all graphs. Not worth
  /// it for lookups: there are as many different ones as words.
  bool shareable = true;
};

/// Per-node numbers: data that never splits a batch.
struct ItemNumbers {
  unsigned integers = 0, reals = 0;  ///< of an item
  /// Where the number of integers follows from the attributes.
  unsigned (*integer_count)(std::span<const std::uint32_t> attributes) = nullptr;
  /// Every integer of a node must be below this (0: no limit).
  std::uint32_t (*integer_limit)(const Signature&) = nullptr;
  /// The integers are (sample, ordinal of the random node, first element), set while recording.
  bool random = false;
};

/// What the backward kernel reads and leaves.
struct GradientFacts {
  Needs needs = Needs::inputs;
  /// False if what the backward kernel gives is not the derivative but what the formula says.
  bool is_derivative = true;
  /// Elements per item that the forward kernel keeps for the backward kernel.
  std::size_t (*saved_size)(const Signature&) = nullptr;
  SharedGradient (*shared)(const Signature&, unsigned input) = [](const Signature&, unsigned) {
    return SharedGradient::dense;
  };
  /// An op whose dy is not yet what weights and biases need: elements per item that the backward
  /// kernel leaves for them, and where in these the contribution to an input begins.
  std::size_t (*deferred_size)(const Signature&) = nullptr;
  std::size_t (*deferred_offset)(const Signature&, unsigned input) =
      [](const Signature&, unsigned) -> std::size_t { return 0; };
};

/// The facts of an operation. The mathematics is in kernels, one set per device.
struct Op {
  static constexpr unsigned kAnyNumber = (1u << 31) - 1;

  std::string_view name;
  /// The formula, with its source where it is not common knowledge.
  std::string_view formula;
  Role role = Role::computed;
  unsigned min_inputs = 1, max_inputs = 1;
  /// The shape of one output item; throws ShapeError.
  Dim (*shape)(std::span<const Dim> inputs, std::span<const std::uint32_t> attributes) = nullptr;
  /// Vectors of one size that an output item consists of. Each may lie by itself: an Output, and an
  /// Operand of outputs or their gradients, has so many items for each of the op.
  std::uint32_t parts = 1;
  Batching batching;
  ItemNumbers numbers;
  GradientFacts gradient;
  /// Floating-point operations per item, to decide how much work a thread is given.
  double (*cost)(const Signature&) = nullptr;
  /// Kernels of an op that is not the library's own (see docs/custom_ops.md); they run on the CPU.
  const Kernels* kernels = nullptr;
  /// What launches its kernels on a GPU (see docs/cuda.md). Without it the CPU's run, with copies.
  const Kernels* cuda_kernels = nullptr;

  Join joins(unsigned input, std::span<const std::uint32_t> attributes) const {
    return batching.join == nullptr ? Join::stacked : batching.join(input, attributes);
  }
  unsigned integers(std::span<const std::uint32_t> attributes) const {
    return numbers.integer_count == nullptr ? numbers.integers : numbers.integer_count(attributes);
  }
  bool has_numbers() const {
    return numbers.integer_count != nullptr || numbers.integers + numbers.reals > 0;
  }
  bool is_open(unsigned input) const {
    return input < 32 && (batching.open_inputs >> input & 1) != 0;
  }
  bool needs_inputs() const {
    return gradient.needs == Needs::inputs || gradient.needs == Needs::inputs_and_output;
  }
  bool needs_output() const {
    return gradient.needs == Needs::output || gradient.needs == Needs::inputs_and_output;
  }
  /// Whether its values are somewhere already, so that there is no kernel.
  bool is_stored() const { return role == Role::input || is_parameter(); }
  bool is_parameter() const { return role == Role::parameter || role == Role::table; }
};

/// Elements of a part of an output item.
inline std::size_t part_size(const Signature& type) { return type.output_size / type.op->parts; }

/// Elements of input j of an item with these integers.
inline std::size_t input_size(const Signature& type, unsigned j, const std::uint32_t* integers) {
  const Dim& dim = type.inputs[j];
  if (!type.op->is_open(j)) return dim.batch_size();
  std::size_t size = integers[0];
  for (unsigned d = 0; d + 1 < dim.nd; ++d) size *= dim.d[d];
  return size;
}

/// Every op of the library, in the order of the reference.
std::span<const Op* const> all_ops();

/// "[name] need rule; got {3,4} {5}": throws ShapeError. A long list of shapes is shortened.
[[noreturn]] void throw_shape_error(std::string_view op, std::string_view rule,
                                    std::span<const Dim> got);

/// The shapes of an item, "{64,128}* {128} -> {64}": shared inputs are marked by a star, and of
/// many inputs the first are shown.
std::string shapes_text(const Signature& type);

/// A shape as [inner, n, outer] around dimension d, as every op along a dimension sees its items.
struct Axis {
  std::size_t inner = 1, n = 1, outer = 1;
  Axis(const Dim& dim, unsigned d);
};

}  // namespace dynet_like::ops

namespace dynet_like::detail {
using ops::all_ops, ops::Axis, ops::input_size, ops::part_size, ops::shapes_text;
using ops::Join, ops::Needs, ops::Op, ops::Role, ops::SharedGradient, ops::Signature;
using ops::throw_shape_error;
}  // namespace dynet_like::detail
