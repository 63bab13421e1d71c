// The backward pass of a batch of recursions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/pass_gradients.h"
#include "dynet_like/exec/recursion_run.h"

namespace dynet_like::detail {

/// A contribution in a slot, to be added to a sum elsewhere.
struct WaitingAddend {
  const std::byte* whole = nullptr;  ///< the state or column, of which the sum may be a part
  std::byte* sum = nullptr;
  std::uint32_t elements = 0;
  /// Its sample and turn: contributions of later vertices are added first,
  std::uint64_t vertex = 0;
  std::uint64_t turn = 0;  ///< and within a vertex those recorded later
  const std::byte* addend = nullptr;
};

/// Adds these, which must be sorted for addition.
void add_waiting(Queue& queue, DType dtype, std::span<const WaitingAddend> waiting);

/// Runs levels in reverse, and contributes to shared inputs. Keeps its data with the run.
class RecursionBackward {
 public:
  explicit RecursionBackward(RecursionRun& of) : of_(of), run_(of.run_) {}

  void run(PassGradients& gradients, std::span<const NodeRef> nodes);
  void contribute(NodeRef node, SharedContributions& to) const;
  /// The listed addends for an input that others read, too, in the order of addition.
  std::span<const WaitingAddend> waiting(NodeRef node, std::size_t input) const;

 private:
  /// The gradient of a matrix whose columns vertices read.
  struct Columns {
    std::byte* gradient = nullptr;  ///< null: not wanted
    bool adds = false, waits = false;
    std::vector<WaitingAddend> addends;
  };
  /// The contributions of some rows of a step through input j: where they go, and whether they add.
  struct StepInput {
    std::size_t kind = 0, step = 0;
    unsigned input = 0;
    std::size_t position = 0, members = 0;  ///< of the member in the step; the step's members
    RowRange rows;
    const Program::Input* of = nullptr;
    void** to = nullptr;
    std::uint8_t* add = nullptr;

    std::size_t index(std::uint32_t row) const { return (row - rows.begin) * members + position; }
  };
  /// The contributions of rows of a step to a shared argument.
  struct ArgumentReader {
    SharedContributions::OfItem of;
    const SharedArgument* argument = nullptr;
    const RecursionRun::Step* step = nullptr;
    std::size_t position = 0;  ///< index of the member in the step
    ItemPlaces from = {};
    const Operand* factor = nullptr;  ///< of outer products
  };
  struct StepGradients {
    std::vector<std::byte*> slots;       ///< by input: slots of all items, if it has slots
    std::vector<WaitingAddend> waiting;  ///< addends for gradients of its members
  };

  const VertexRows::Kind& kind(std::size_t k) const { return of_.rows_.kinds()[k]; }
  RecursionRun::Step& step(std::size_t k, std::size_t s) { return of_.steps_[k][s]; }
  TypeCount& counts() { return run_.counts.of_types[of_.type_.id]; }
  void begin(PassGradients& gradients, std::span<const NodeRef> nodes);
  /// A vertex with the value of this one, which is not repeated, in a node whose gradient is
  /// wanted. There, columns get the gradients of all these vertices. None: a sample of kNone.
  VertexRows::Row owner(const VertexRows::Row& row) const;
  void find_owners();
  /// Adds the gradients of repeated vertices to those of the vertices that run for them.
  void gather_repeated();
  void find_columns(const PassGradients& gradients, std::size_t node);
  void clear_columns();
  std::byte* zeros(std::size_t elements);
  void clear_gradients(std::size_t kind);
  void run_steps(std::size_t kind, RowRange rows, bool hoisted);
  void run_early_products();
  /// `early`: only the gradients of its early products, which are left out otherwise.
  void run_step(std::size_t kind, std::size_t s, RowRange rows, bool early = false);
  Destination destination(std::size_t kind, std::size_t s, unsigned j, RowRange rows);
  void to_argument(const StepInput& all);
  void to_member(const StepInput& all);
  void to_column(const StepInput& all, const Program::Port& port);
  void to_state(const StepInput& all, const Program::Port& port);
  void wait(const StepInput& all, std::uint32_t row, const void* whole,
            std::vector<WaitingAddend>& waiting);
  std::byte* slot(std::size_t kind, std::size_t s, unsigned j, std::size_t item);
  void add(std::vector<WaitingAddend>& waiting);
  void describe_readers(std::size_t kind);

  RecursionRun& of_;
  RunState& run_;
  std::vector<std::byte*> gradient_;     ///< by node: the gradient of its states
  std::vector<bool> is_wanted_;          ///< by node; if not wanted, its gradient is zeros
  std::vector<VertexRows::Row> owners_;  ///< by vertex of all samples, if some may be repeated
  std::vector<Columns> columns_;         ///< by node and input
  std::vector<std::vector<StepGradients>> steps_;
  std::vector<std::vector<WaitingAddend>> waiting_states_;  ///< by level
  std::vector<WaitingAddend> waiting_columns_;
  std::vector<std::vector<ArgumentReader>> readers_;  ///< by kind, in the order of recording
  Arena parts_;                                       ///< lists of the places of outputs' gradients
  Arena lists_;                                       ///< lists of one call
};

}  // namespace dynet_like::detail
