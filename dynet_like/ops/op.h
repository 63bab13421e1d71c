// What an operation is: the facts that recording, batching, kernels and the generated tests use.
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

/// How an input joins a batch. *stacked*: each node brings its own item. *shared*: only nodes with
/// the same argument batch. *broadcast*: shared if the argument depends on parameters and constants
/// alone, else stacked.
enum class Join : std::uint8_t { stacked, shared, broadcast };

/// What the backward kernel reads besides integers, reals, the saved items and dy.
enum class Needs : std::uint8_t { nothing, inputs, output, inputs_and_output };

/// What one node contributes to the gradient of an argument that depends on parameters alone. If an
/// op defers gradients, "dy" means the numbers that its backward kernel left for that argument.
enum class SharedGradient : std::uint8_t {
  dense,          ///< whatever the backward kernel writes
  sum,            ///< dy itself (summed over columns if dy has more columns)
  outer_product,  ///< dy x', where x is the next input
  rows,           ///< dy, in the row of the table that the node's integer names
  listed          ///< whatever the run of a recursion lists
};

/// A type without its shared arguments: the part that shape rules and kernels read.
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

/// What is special about an op for code that runs graphs.
enum class Role : std::uint8_t {
  computed,   ///< nothing: a kernel computes its value
  input,      ///< data of the user
  parameter,  ///< a parameter's values
  table,      ///< a whole table of rows
  row,        ///< rows of a table
  copy,       ///< the same values elsewhere
  product,    ///< a matrix times columns
  recursion   ///< a function of every vertex of a structure, run as a program
};

/// How nodes of an op join a batch.
struct Batching {
  /// Null: all inputs are stacked.
  Join (*join)(unsigned input, std::span<const std::uint32_t> attributes) = nullptr;
  /// For an op that does the same to every column: true if input j is split into columns along the
  /// last of `rank` dimensions, false if every column needs all of it. Columns are then recorded as
  /// minibatch elements, so that matrices with any number of columns batch.
  bool (*by_column)(unsigned input, unsigned rank,
                    std::span<const std::uint32_t> attributes) = nullptr;
  /// A bit for each input that may have any number of columns. The last dimension of such an input
  /// is not part of the type, where it is 0. All items of a node have the same such input; the
  /// first integer of an item is its number of columns. If consecutive items have one destination,
  /// the kernel sums their contributions in order and then writes or adds the sum, as the `add`
  /// flag of the first item says.
  std::uint32_t open_inputs = 0;
  /// Whether a node of parameters and constants alone is computed once for all graphs. That does
  /// not pay for lookups, since there are as many different nodes as words.
  bool shareable = true;
};

/// Per-node numbers: data that never splits a batch.
struct ItemNumbers {
  unsigned integers = 0, reals = 0;  ///< of an item
  /// Set if the number of integers depends on the attributes.
  unsigned (*integer_count)(std::span<const std::uint32_t> attributes) = nullptr;
  /// Every integer of a node must be below this (0: no limit).
  std::uint32_t (*integer_limit)(const Signature&) = nullptr;
  /// The integers are those of core/philox.h, set while recording.
  bool random = false;
};

/// What the backward kernel reads and writes.
struct GradientFacts {
  Needs needs = Needs::inputs;
  /// False if the backward kernel computes, as the op's formula says, something else.
  bool is_derivative = true;
  /// Elements per item that the forward kernel keeps for the backward kernel.
  std::size_t (*saved_size)(const Signature&) = nullptr;
  SharedGradient (*shared)(const Signature&, unsigned input) = [](const Signature&, unsigned) {
    return SharedGradient::dense;
  };
  /// For an op whose weights and biases need other numbers than dy: the elements per item that the
  /// backward kernel leaves for them, and the offset of those for an input.
  std::size_t (*deferred_size)(const Signature&) = nullptr;
  std::size_t (*deferred_offset)(const Signature&, unsigned input) =
      [](const Signature&, unsigned) -> std::size_t { return 0; };
};

/// Products W x at the start of an op's sums that may run before its other inputs are there.
struct EarlyProducts {
  std::uint64_t inputs = 0;  ///< a bit for each x; none: there are no such products
  std::size_t size = 0;      ///< elements of their sums, per item
};

/// The facts of an operation. Kernels, one set per device, do the computation.
struct Op {
  static constexpr unsigned kAnyNumber = (1u << 31) - 1;

  std::string_view name;
  /// The formula, with its source unless it is common knowledge.
  std::string_view formula;
  Role role = Role::computed;
  unsigned min_inputs = 1, max_inputs = 1;
  /// The shape of one output item; throws ShapeError.
  Dim (*shape)(std::span<const Dim> inputs, std::span<const std::uint32_t> attributes) = nullptr;
  /// An output item consists of so many vectors of equal size. Each may lie elsewhere: an Output,
  /// and an Operand for outputs or their gradients, has `parts` items for each item of the op.
  std::uint32_t parts = 1;
  Batching batching;
  ItemNumbers numbers;
  GradientFacts gradient;
  /// The products that need only inputs whose bits are set in `ready`. An op with this has kernels
  /// `begin` and `end`.
  EarlyProducts (*early)(const Signature&, std::uint64_t ready) = nullptr;
  /// Floating-point operations per item. They decide how much work each thread gets.
  double (*cost)(const Signature&) = nullptr;
  /// The kernels of a user's op (see docs/custom_ops.md); they run on the CPU.
  const Kernels* kernels = nullptr;
  /// The launchers of its kernels on a GPU (see docs/cuda.md). Without them the CPU's kernels run,
  /// with copies.
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
  /// Whether its values exist in memory already, so that no kernel runs.
  bool is_stored() const { return role == Role::input || is_parameter(); }
  bool is_parameter() const { return role == Role::parameter || role == Role::table; }
};

/// Elements of a part of an output item.
inline std::size_t part_size(const Signature& type) { return type.output_size / type.op->parts; }

/// The first ones of the pairs (W, x), whose first W is input `first`, as long as W is shared and x
/// is ready. The last pair is never one of them.
std::uint64_t leading_pairs(const Signature& type, unsigned first, std::uint64_t ready);

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

/// Throws ShapeError "[name] need rule; got {3,4} {5}". Shortens a long list of shapes.
[[noreturn]] void throw_shape_error(std::string_view op, std::string_view rule,
                                    std::span<const Dim> got);

/// The shapes of an item, "{64,128}* {128} -> {64}". A star marks shared inputs. Of many inputs
/// only the first are shown.
std::string shapes_text(const Signature& type);

/// A shape as [inner, n, outer] around dimension d, as ops along a dimension see their items.
struct Axis {
  std::size_t inner = 1, n = 1, outer = 1;
  Axis(const Dim& dim, unsigned d);
};

}  // namespace dynet_like::ops

namespace dynet_like::detail {
using ops::all_ops, ops::Axis, ops::EarlyProducts, ops::input_size, ops::part_size,
    ops::shapes_text;
using ops::Join, ops::Needs, ops::Op, ops::Role, ops::SharedGradient, ops::Signature;
using ops::throw_shape_error;
}  // namespace dynet_like::detail
