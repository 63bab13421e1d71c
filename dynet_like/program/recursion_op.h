// The op of a recursion: for every kind of vertices a program, made from what a function recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/program/program.h"
#include "dynet_like/tape/tape_writer.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// How a value that follows from parameters and constants alone is recorded on another tape.
struct SharedRecipe {
  /// A parameter, a constant, an operation on other values, or a stretch of one.
  enum class Kind : std::uint8_t { parameter, constant, operation, view };
  Kind kind = Kind::parameter;
  bool stops_gradient = false;
  std::shared_ptr<ParameterStorage> parameter;
  const Op* op = nullptr;
  std::shared_ptr<const Op> owner;    ///< of an op that is not the library's own
  std::vector<std::uint32_t> inputs;  ///< earlier recipes
  std::vector<std::uint32_t> attributes, integers;
  std::vector<double> reals;
  Dim dim;
  std::uint32_t offset = 0, stride = 0;
};

/// A node has the inputs whose columns vertices read, and then the shared ones.
struct RecursionOp : Op {
  /// Of every vertex so many random numbers of nodes are reserved.
  static constexpr std::uint32_t kMostRandom = 64;

  std::string its_name;
  std::shared_ptr<TypeTable> types;  ///< of what the programs run
  /// In the order of their kinds. An op with more kinds has those of the one before, too.
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<SharedRecipe> recipes;
  std::vector<std::uint32_t> shared;  ///< which of them are inputs
  std::vector<Dim> state_dims;
  std::vector<std::uint32_t> state_sizes;
  std::vector<std::uint32_t> state_offsets;  ///< elements in all states before, of one vertex
  std::uint32_t state_size = 0;              ///< of all states of a vertex
  std::vector<std::uint32_t> column_sizes;   ///< by input that is not shared
  /// So many of these, the last ones, are states that vertices without predecessors begin with, and
  /// have no columns.
  std::uint32_t starts = 0;
  DType dtype = DType::f32;

  bool is_start(std::size_t input) const { return input + starts >= column_sizes.size(); }
  /// Whether vertices of a kind read an input.
  bool reads(const VertexKind& kind, std::size_t input) const {
    return is_start(input) ? kind.predecessors == 0 : kind.reads_matrix(input);
  }
  /// Whether at most one vertex reads every element of it.
  bool reads_once(const Vertices& vertices, std::size_t input) const {
    return is_start(input) ? vertices.roots == 1 : vertices.matrix(input).is_read_once;
  }
  /// Whether every element of an input, which has so many, gets a contribution.
  bool covers(const Vertices& vertices, std::size_t input, std::size_t elements) const;
  /// Whether it gets just one.
  bool adds_once(const Vertices& vertices, std::size_t input, std::size_t elements) const;
  /// Random nodes that each of these vertices has numbers for.
  std::uint32_t most_random(const Vertices& vertices) const;
  /// Its index among the programs, or their number if there is none.
  std::size_t index_of(const VertexKind& kind) const;
  const Program* find(const VertexKind& kind) const {
    const std::size_t index = index_of(kind);
    return index == programs.size() ? nullptr : programs[index].get();
  }
  /// The shared inputs in a tape, recorded if they are not there yet.
  static SharedInputs& shared_inputs(const std::shared_ptr<const RecursionOp>& op,
                                     TapeWriter& writer);
  /// Bytes that the programs keep for a vertex of a kind; in training with their gradients.
  std::size_t bytes_of_vertex(const VertexKind& kind, bool inference) const;

 private:
  std::vector<ValueId> add_shared(TapeWriter& writer) const;
};

/// What it takes to record these values of a tape, whose numbers among the recipes go to `shared`.
std::vector<SharedRecipe> make_recipes(const Tape& tape, std::span<const ValueId> values,
                                       std::vector<std::uint32_t>& shared);

inline const RecursionOp& recursion_of(const Signature& type) {
  return static_cast<const RecursionOp&>(*type.op);
}

}  // namespace dynet_like::detail
