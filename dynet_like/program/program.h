// What vertices of one kind compute: operations in steps, and how gradients are summed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/tape/type_table.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// Plain data, which does not change once it is made. Its operations are *members*, in the order in
/// which their results are there; a *step* is members of one type that run in one call. Of a row
/// of a call's items every member has one. What members read from outside are *ports*, the same
/// elements in all shapes one port; what others read of members are *results*.
struct Program {
  /// An input of a member: another member, a port, or an argument that all samples share.
  struct Input {
    enum class From : std::uint8_t { member, port, argument };
    From from = From::argument;
    bool blocks_gradient = false;
    std::uint32_t index = 0;   ///< of the member, port or argument
    std::uint32_t offset = 0;  ///< elements of a member's output: where what is read of it begins
    ShapeId shape = 0;         ///< and what that is
    /// When it was recorded, among all inputs of the vertex.
    std::uint64_t turn = 0;
    /// What it contributes: is added to what was there before, inside the vertex; or waits in a
    /// slot until all others in place are there.
    bool adds = false, waits = false;
  };
  /// Numbers of a member, the same for all vertices.
  struct Numbers {
    std::vector<std::uint32_t> integers;
    std::vector<double> reals;
    std::uint32_t random = 0;  ///< which random member it is

    bool operator==(const Numbers&) const = default;
  };
  struct Member {
    TypeId type = 0;
    std::uint32_t first_input = 0, inputs = 0;  ///< into Program::inputs
    Numbers numbers;
    std::uint16_t step = 0, position = 0;  ///< in which step it runs, and which member of it it is
    bool clears = false;                   ///< its gradient begins with zeros
  };
  struct Step {
    TypeId type = 0;
    std::vector<std::uint16_t> members;
    bool is_hoisted = false;  ///< reads no state, even indirectly: runs once for all levels
    bool sums_slots = false;  ///< contributions to its members' gradients wait in slots
  };
  /// A column of an input, or a predecessor's state.
  struct Port {
    bool is_state = false, blocks_gradient = false;
    std::uint32_t predecessor = 0;
    std::uint32_t index = 0;   ///< of the input or state
    std::uint32_t offset = 0;  ///< elements into it
    std::uint32_t elements = 0;

    bool operator==(const Port&) const = default;
  };
  /// A state: a part of a member's output (see Op::parts), and of no other state.
  struct Result {
    std::uint32_t member = 0, part = 0;

    bool operator==(const Result&) const = default;
  };

  /// An input that is an argument.
  struct Reader {
    std::uint32_t member = 0, input = 0;
  };

  VertexKind kind;
  std::vector<Member> members;
  std::vector<Input> inputs;
  std::vector<Port> ports;
  std::vector<Result> results;
  std::vector<Step> steps;              ///< in the order of the forward pass
  std::vector<std::uint16_t> backward;  ///< steps, in the order of the backward pass
  std::vector<Reader> readers;          ///< of arguments, in the order in which they were recorded
  std::uint32_t random_members = 0;
  double product_flops = 0;  ///< of a vertex, forward
  /// By input that has columns: every element of a column gets a contribution; none gets several.
  std::vector<bool> covers_columns, adds_once;

  std::span<const Input> inputs_of(std::size_t member) const {
    return std::span(inputs).subspan(members[member].first_input, members[member].inputs);
  }
  /// Input j of a step's member.
  std::uint32_t input_of(const Step& step, std::size_t position, unsigned j) const {
    return members[step.members[position]].first_input + j;
  }
};

/// A line for each step. `types`: those of the members.
std::string to_string(const Program& program, const TypeTable& types);

/// Whether they are the same operations on the same arguments, with the same numbers. The table is
/// that of both. Parameters may have been frozen between: types, which name them, differ then.
bool does_the_same(const Program& a, const Program& b, const TypeTable& types);

}  // namespace dynet_like::detail
