// A sequence of nodes that repeats, understood once: its inner links, its calls and their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/tape/type_table.h"

namespace dynet_like::detail {

/// Where an input of a member comes from: another member, outside, or its type, which names it.
struct CellInput {
  enum class From : std::uint8_t { member, port, argument };
  From from = From::argument;
  bool blocks_gradient = false;
  std::uint16_t index = 0;   ///< of the member or port
  std::uint32_t offset = 0;  ///< of a member's output: where what is read of it begins
  ShapeId shape = 0;         ///< and what that is

  bool operator==(const CellInput&) const = default;
};

/// What makes nodes of a sample a cell of one type. Every node has one item.
struct CellPattern {
  std::vector<TypeId> members;
  std::vector<std::uint32_t> first_input{0};  ///< per member and one more, into `inputs`
  std::vector<CellInput> inputs;
  std::uint32_t ports = 0;  ///< different values from outside, in the order of their first readers

  std::size_t size() const { return members.size(); }
  std::span<const CellInput> inputs_of(std::size_t member) const {
    return std::span(inputs).subspan(first_input[member],
                                     first_input[member + 1] - first_input[member]);
  }
  bool operator==(const CellPattern&) const = default;
};

/// Members of one type that run in one call.
struct CellStep {
  TypeId type = 0;
  std::vector<std::uint16_t> members;
  std::uint16_t last_reader = 0;  ///< the last step that reads it; itself if none does
};

/// A part of a member's output that other members read.
struct CellPart {
  std::uint32_t begin = 0, end = 0;  ///< elements
  std::uint16_t readers = 0;
};

struct CellMember {
  std::uint16_t step = 0, place = 0;  ///< in which step it runs, and which member of it it is
  std::uint16_t last_reader = 0;      ///< the last member that reads it, if any does
  std::vector<CellPart> parts;        ///< those through which gradients come
  bool is_covered = false;            ///< the parts are all of it
};

/// A value from outside: the input that reads it first, and how many do.
struct CellPort {
  std::uint16_t member = 0, input = 0, readers = 0;
};

/// What an input contributes to the gradient of a port or of a part of a member. Contributions are
/// summed in the order of recording: those that do not come in this order wait in slots.
struct CellGradient {
  static constexpr std::uint16_t kNoSlot = 0xffff;
  std::uint16_t rank = 0;  ///< how many were recorded before
  std::uint16_t part = 0;  ///< of the member
  std::uint16_t slot = kNoSlot;
  bool adds = false;  ///< others have come before, inside the cell
};

struct CellType {
  CellPattern pattern;
  std::vector<CellStep> steps;          ///< in the order of the forward pass
  std::vector<std::uint16_t> backward;  ///< steps, in the order of the backward pass
  std::vector<CellMember> members;
  std::vector<CellPort> ports;
  std::vector<CellGradient> gradients;  ///< by input
  /// The inputs whose contributions wait in slots, in the order of recording.
  std::vector<std::uint32_t> slots;
  bool parts_overlap = false;  ///< different parts of a member that are read
};

/// Plans the inside of a cell.
CellType make_cell_type(CellPattern pattern, const TypeTable& types);

}  // namespace dynet_like::detail
