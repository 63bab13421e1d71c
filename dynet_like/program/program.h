// The computation of vertices of one kind: operations in steps, and how gradients are summed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/sum_order.h"
#include "dynet_like/tape/type_table.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// Plain data, which does not change once it is made. *Members* are the program's operations, in
/// the order in which their results are available. A *step* consists of members of one type that
/// run in one call: for each row (vertex), the call has one item per member. *Ports* are the values
/// that members read from outside; the same elements in any shapes are one port. *Results* are the
/// parts of members' outputs that are states of the vertex.
struct Program {
  /// An input of a member: another member, a port, or an argument that all samples share.
  struct Input {
    enum class From : std::uint8_t { member, port, argument };
    From from = From::argument;
    bool blocks_gradient = false;
    std::uint32_t index = 0;   ///< index of the member, port or argument
    std::uint32_t offset = 0;  ///< in the member's output: the first element that is read
    ShapeId shape = 0;         ///< shape of what is read
    /// The order of recording, among all inputs of the vertex.
    std::uint64_t turn = 0;
    /// How its contribution reaches its gradient, among those of the vertex.
    Arrival arrival = Arrival::written;
  };
  /// Numbers of a member, the same for all vertices.
  struct Numbers {
    std::vector<std::uint32_t> integers;
    std::vector<double> reals;
    std::uint32_t random = 0;  ///< of a random member: its number among the vertex's draws

    bool operator==(const Numbers&) const = default;
  };
  struct Member {
    TypeId type = 0;
    std::uint32_t first_input = 0, inputs = 0;  ///< index in Program::inputs
    Numbers numbers;
    std::uint16_t step = 0, position = 0;  ///< its step, and its index among the step's members
    bool clears = false;                   ///< its gradient starts from zeros
  };
  struct Step {
    TypeId type = 0;
    std::vector<std::uint16_t> members;
    bool is_hoisted = false;  ///< reads no state, even indirectly, so it runs once for all levels
    /// Otherwise: its products that read no state may run once for all levels, too.
    EarlyProducts early;
    bool sums_slots = false;  ///< some contributions to its members' gradients wait in slots
  };
  /// A column of an input, or a predecessor's state.
  struct Port {
    bool is_state = false, blocks_gradient = false;
    std::uint32_t predecessor = 0;
    std::uint32_t index = 0;   ///< index of the input or state
    std::uint32_t offset = 0;  ///< first element
    std::uint32_t elements = 0;

    bool operator==(const Port&) const = default;
  };
  /// A state: a part of a member's output (see Op::parts) that belongs to no other state.
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
  std::vector<Step> steps;      ///< in the order of the forward pass; backward in reverse
  std::vector<Reader> readers;  ///< of arguments, in recording order
  std::uint32_t draws = 0;      ///< random nodes that the function records, needed or not
  double product_flops = 0;     ///< of a vertex, in the forward pass
  /// By input with columns: whether every element gets a contribution; whether none gets several.
  std::vector<bool> covers_columns, adds_once;

  std::span<const Input> inputs_of(std::size_t member) const {
    return std::span(inputs).subspan(members[member].first_input, members[member].inputs);
  }
  /// Input j of a step's member.
  std::uint32_t input_of(const Step& step, std::size_t position, unsigned j) const {
    return members[step.members[position]].first_input + j;
  }
};

/// One line for each step. `types` are the types of the members.
std::string to_string(const Program& program, const TypeTable& types);

/// Whether both do the same operations on the same arguments, with the same numbers. Both must have
/// this table.
bool does_the_same(const Program& a, const Program& b, const TypeTable& types);

}  // namespace dynet_like::detail
