// A batch of recursions: the vertices of all samples, level by level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/packing.h"
#include "dynet_like/exec/recursion_op.h"
#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_contributions.h"

namespace dynet_like::detail {

class BackwardPass;

/// The nodes of one batch. It keeps what its programs computed for the backward pass.
class RecursionRun {
 public:
  /// `batch` has its place for outputs, in which every node has all its vertices' first states,
  /// then the second, and so on.
  RecursionRun(RunState& run, const Batch& batch, std::span<const NodeRef> members);

  void forward();
  /// Gives back what only a backward pass would read.
  void give_back();
  /// The members that take part have got all gradients from outside. `members` are those that there
  /// still are.
  void backward(BackwardPass& pass, std::span<const NodeRef> members);
  /// Adds to the gradients of the nodes what states of theirs got from others.
  void complete_gradients();
  /// What a member contributed to its shared inputs: after `backward`, kind by kind, and of a kind
  /// in the order of vertices.
  void contribute(NodeRef member, SharedContributions& to) const;

 private:
  struct Member {
    NodeRef ref;
    std::shared_ptr<const Vertices> vertices;
    std::uint32_t first_vertex = 0, first_random = 0;
    std::byte* out = nullptr;
    std::byte* gradient = nullptr;  ///< in the backward pass; null: not wanted
  };
  /// A matrix whose columns a member's vertices read.
  struct Columns {
    const std::byte* value = nullptr;
    std::byte* gradient = nullptr;  ///< in the backward pass; null: not wanted
    bool adds = false;
  };
  struct Shared {
    Value value;
    Identity producer = 0;
    const std::byte* place = nullptr;
  };
  /// A vertex of a member, and in which row of its kind it runs.
  struct Row {
    std::uint32_t member = 0, vertex = 0;
  };
  struct Place {
    std::uint32_t kind = 0, row = 0;
  };
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  /// Calls of one type: `members` items beside each other for every row.
  struct Step {
    const NodeType* type = nullptr;
    const Kernels* kernels = nullptr;
    std::size_t rows = 0, members = 0, stride = 0, saved_stride = 0, deferred_stride = 0;
    /// Its outputs are read in their level alone, and the next level writes over them.
    bool of_level = false;
    std::byte *out = nullptr, *saved = nullptr, *dy = nullptr, *deferred = nullptr;
    std::vector<Operand> in;
    const std::uint32_t* integers = nullptr;
    const void* reals = nullptr;
    /// By input: what is contributed to it by item, if it does not go where it belongs.
    std::vector<std::byte*> slots;
  };
  /// Rows of a kind that are of one level.
  struct OfLevel {
    std::uint32_t level = 0;
    Range rows;
  };
  struct Kind {
    const VertexProgram* program = nullptr;
    std::vector<Row> rows;
    std::vector<OfLevel> levels;        ///< in which it has vertices, from the first on
    std::vector<std::uint32_t> before;  ///< of every row its predecessors, among all vertices
    std::vector<Step> steps;
  };
  /// Where the values and gradients of a state of a kind lie: row by row.
  struct StateBlock {
    std::byte *out = nullptr, *dy = nullptr;
    std::size_t stride = 0;
  };
  /// A contribution in a slot to a state of a vertex, or to a column of an input.
  struct Waiting {
    std::byte* sum = nullptr;
    std::uint32_t successor = 0, size = 0;
    const void* addend = nullptr;
  };

  /// Elements that are copied, or added to what is there.
  struct Copies {
    std::vector<const void*> from;
    std::vector<void*> to;
    std::vector<std::uint8_t> add_to;
    std::vector<std::uint32_t> size;

    void add(std::uint32_t elements, const void* source, void* destination, bool adds) {
      from.push_back(source);
      to.push_back(destination);
      add_to.push_back(adds);
      size.push_back(elements);
    }
    void clear() {
      from.clear();
      to.clear();
      add_to.clear();
      size.clear();
    }
  };

  /// Rows of a level that are of one kind.
  struct OfKind {
    std::uint32_t kind = 0;
    Range rows;
  };
  std::span<const OfKind> of_level(std::uint32_t level) const {
    return std::span(of_level_).subspan(level_begin_[level],
                                        level_begin_[level + 1] - level_begin_[level]);
  }

  void find_members(std::span<const NodeRef> refs);
  void find_shared();
  std::size_t inputs() const { return op_.column_sizes.size(); }
  Columns& columns_of(std::size_t member, std::size_t input) {
    return columns_[member * inputs() + input];
  }
  /// Where a vertex's column of an input begins in it, in bytes.
  std::size_t begin_of_column(const Row& row, std::size_t input) const {
    if (op_.is_start(input)) return 0;
    const std::size_t column = members_[row.member].vertices->column_of(row.vertex, input);
    return column * op_.column_sizes[input] * element_;
  }
  const Columns& columns_of(std::size_t member, std::size_t input) const {
    return columns_[member * inputs() + input];
  }
  void find_kinds();
  void sort_vertices();
  void add_row(Kind& kind, const Row& row);
  void allocate(Kind& kind);
  bool is_of_level(const VertexProgram& program, std::size_t s) const;
  void list_inputs(Kind& kind);
  const void** list_places(const Kind& kind, const CellStep& of, unsigned j);
  void list_columns(const Kind& kind, const VertexProgram::Port& port, const void** places,
                    std::size_t step) const;
  void list_states(const Kind& kind, const VertexProgram::Port& port, const void** places,
                   std::size_t step) const;
  void list_numbers(Kind& kind, std::size_t s);
  SharedMatrix shared_matrix(const NodeType& type, unsigned j, std::uint32_t shared) const {
    return {&type, j, &shared_[shared].value, shared_[shared].producer};
  }
  std::byte* item(const Step& step, std::byte* block, std::size_t stride, std::uint32_t row,
                  std::size_t place) const {
    return block + (row * step.members + place) * stride;
  }
  void find_state_blocks();
  const StateBlock& states_of(std::size_t kind, std::uint32_t state) const {
    return state_blocks_[kind * op_.state_sizes.size() + state];
  }
  /// Where it lies in the output of its node, or in the gradient of that.
  std::byte* state_in(std::byte* node, const Member& member, std::uint32_t vertex,
                      std::uint32_t state) const;
  static Range all_rows(const Kind& kind) {
    return {0, static_cast<std::uint32_t>(kind.rows.size())};
  }
  void run_steps(Kind& kind, Range rows, bool hoisted);
  void run_step(Step& step, Range rows);
  /// detect_anomaly, for what a step wrote or got: its outputs, or their gradients.
  void check_finite(const Kind& kind, std::size_t s, const std::byte* block, Range rows,
                    const char* what) const;
  /// Of all members that have a place for them, out of the blocks of the steps.
  void copy_states(std::byte* StateBlock::*from, std::byte* Member::*to);
  void run_copies();

  void begin_backward(BackwardPass& pass, std::span<const NodeRef> members);
  void clear_columns();
  void clear_columns(std::size_t member, std::size_t input);
  void run_backward(Kind& kind, Range rows, bool hoisted);
  void clear_gradients(const Kind& kind);
  void bring_state_gradients(std::size_t kind);
  void run_step_backward(Kind& kind, std::size_t s, Range rows);
  const Operand* inputs_backward(Kind& kind, std::size_t s, Range rows, const Destination* dx);
  /// What input j of a step contributes to, for some rows: where each contribution goes, and
  /// whether it is added there.
  struct Contributions {
    Step& step;
    unsigned input = 0;
    std::size_t place = 0;  ///< of the member in the step
    Range rows;
    void** to = nullptr;
    std::uint8_t* add = nullptr;

    std::size_t index(std::uint32_t row) const { return (row - rows.begin) * step.members + place; }
  };
  Destination destination(Kind& kind, std::size_t s, unsigned j, Range rows);
  void to_column(const Kind& kind, const VertexProgram::Port& port, const Contributions& all);
  void to_state(const Kind& kind, const VertexProgram::Port& port, const Contributions& all);
  void wait_for_others(const Contributions& contributions, std::uint32_t row, std::uint32_t vertex,
                       std::vector<Waiting>& waiting);
  std::byte* slot(Step& step, unsigned j, std::uint32_t row, std::size_t place);
  void* const* places(const Step& step, std::byte* block, std::size_t stride, Range rows);
  void add_waiting(std::vector<Waiting>& waiting);
  void contribute(const Step& step, unsigned j, std::size_t place, std::uint32_t shared,
                  std::span<const std::uint32_t> rows, SharedContributions& to) const;

  RunState& run_;
  TypeId type_;
  const RecursionOp& op_;
  std::size_t element_;
  std::vector<Member> members_;
  std::vector<Columns> columns_;  ///< by member and input
  std::vector<Shared> shared_;
  std::vector<Kind> kinds_;  ///< that there are, in the order of the op's programs
  std::vector<OfKind> of_level_;
  std::vector<std::uint32_t> level_begin_{0};  ///< by level and one more, into of_level_
  std::vector<Place> places_;                  ///< by vertex of all members
  std::vector<StateBlock> state_blocks_;       ///< by kind and state
  std::uint32_t levels_ = 0;
  std::vector<std::pair<std::byte*, std::size_t>> blocks_;

  // Of a backward pass.
  bool has_inactive_ = false, is_complete_ = true;
  Arena lists_;  ///< of one call
  Copies copies_;
  std::vector<std::vector<Waiting>> waiting_states_;  ///< by level
  std::vector<Waiting> waiting_columns_;
};

}  // namespace dynet_like::detail
