// The op of a recursion: a program for every kind of vertices, made from the record of a function.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/program/program.h"
#include "dynet_like/tape/tape_writer.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// How to record a value of parameters and constants alone on another tape.
struct SharedRecipe {
  /// A parameter, a constant, an operation on other values, or a part of a value.
  enum class Kind : std::uint8_t { parameter, constant, operation, view };
  Kind kind = Kind::parameter;
  bool stops_gradient = false;
  std::shared_ptr<ParameterStorage> parameter;
  const Op* op = nullptr;
  std::shared_ptr<const Op> owner;    ///< of an op that is not the library's own
  std::vector<std::uint32_t> inputs;  ///< indices of earlier recipes
  std::vector<std::uint32_t> attributes, integers;
  std::vector<double> reals;
  Dim dim;
  std::uint32_t offset = 0, stride = 0;
};

/// A node's inputs are those whose columns vertices read, followed by the shared ones.
struct RecursionOp : Op {
  std::string its_name;
  std::shared_ptr<TypeTable> types;  ///< the types of the programs' members
  /// Ordered by kind. An op with more kinds also has the programs of the previous op.
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<SharedRecipe> recipes;
  std::vector<std::uint32_t> shared;  ///< indices of the recipes that are inputs
  std::vector<Dim> state_dims;
  std::vector<std::uint32_t> state_sizes;
  std::vector<std::uint32_t> state_offsets;  ///< elements of all earlier states of a vertex
  std::uint32_t state_size = 0;              ///< of all states of a vertex
  std::vector<std::uint32_t> column_sizes;   ///< by input that is not shared
  /// The number of inputs, the last ones of these, that are the initial states of vertices without
  /// predecessors. They have no columns.
  std::uint32_t starts = 0;
  DType dtype = DType::f32;

  bool is_start(std::size_t input) const { return input + starts >= column_sizes.size(); }
  /// The offset, in bytes, of a vertex's column in an input that it reads.
  std::size_t begin_of_column(const Vertices& vertices, std::uint32_t vertex,
                              std::size_t input) const {
    if (is_start(input)) return 0;
    return std::size_t{vertices.column_of(vertex, input)} * column_sizes[input] * size_of(dtype);
  }
  /// Whether vertices of a kind read this input.
  bool reads(const VertexKind& kind, std::size_t input) const {
    return is_start(input) ? kind.predecessors == 0 : kind.reads_matrix(input);
  }
  /// Whether each of its columns is read by exactly one vertex.
  bool reads_once(const Vertices& vertices, std::size_t input) const {
    return is_start(input) ? vertices.roots == 1 : vertices.matrix(input).is_read_once;
  }
  /// Whether every one of the input's `elements` gets contributions, all from one vertex.
  bool covers(const Vertices& vertices, std::size_t input, std::size_t elements) const;
  /// Whether each gets exactly one contribution.
  bool adds_once(const Vertices& vertices, std::size_t input, std::size_t elements) const;
  /// Whether a vertex reads one of these shared inputs of a tape that has a gradient. The kinds
  /// that others met do not count.
  bool reads_parameter(const Vertices& vertices, const Tape& tape, const SharedInputs& from) const;
  /// By vertex, the number of its random nodes; empty if no vertex has any.
  std::vector<std::uint32_t> draws_of(const Vertices& vertices) const;
  /// The index of the kind's program, or the number of programs if there is none.
  std::size_t index_of(const VertexKind& kind) const;
  const Program* find(const VertexKind& kind) const {
    const std::size_t index = index_of(kind);
    return index == programs.size() ? nullptr : programs[index].get();
  }
  /// The shared inputs in a tape, recorded if they are not there yet.
  static SharedInputs& shared_inputs(const std::shared_ptr<const RecursionOp>& op,
                                     TapeWriter& writer);
  /// The bytes that the program keeps for a vertex of a kind; in training this includes gradients.
  std::size_t bytes_of_vertex(const VertexKind& kind, bool inference) const;

 private:
  std::vector<ValueId> add_shared(TapeWriter& writer) const;
};

/// The recipes for these values of a tape. `shared` gets the index of each value's recipe.
std::vector<SharedRecipe> make_recipes(const Tape& tape, std::span<const ValueId> values,
                                       std::vector<std::uint32_t>& shared);

inline const RecursionOp& recursion_of(const Signature& type) {
  return static_cast<const RecursionOp&>(*type.op);
}

}  // namespace dynet_like::detail
