// Cells forward: step by step, with lists that follow from the type.
#include <algorithm>

#include "dynet_like/core/make_room.h"
#include "dynet_like/exec/run_batch.h"

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

class CellForward {
 public:
  CellForward(RunState& run, std::span<const std::uint32_t> cells,
              std::span<const std::uint32_t> last_reads)
      : run_(run),
        cells_(cells),
        last_reads_(last_reads),
        type_(run.common.dictionary[run.cells.all[cells[0]].type]) {}

  void run();

 private:
  void run_steps();
  std::uint32_t count() const { return static_cast<std::uint32_t>(cells_.size()); }
  const Batch& batch_of(const CellMember& member) const {
    return run_.batches[first_batch_ + member.step];
  }
  void find_ports();
  NodeRef example_of(const CellStep& step) const {
    const Cell& cell = run_.cells.all[cells_[0]];
    return {cell.tape, run_.cells.nodes[cell.first_node + step.members[0]]};
  }
  std::uint32_t items_of(const CellStep& step) const {
    return static_cast<std::uint32_t>(step.members.size() * cells_.size());
  }
  std::uint32_t list_members(const CellStep& step);
  void run_step(const CellStep& step);
  Operand operand(const CellStep& step, const NodeType& type, unsigned j);
  const void** copy_places(const CellInput& input, std::size_t element, const void** to) const;
  void give_back_read(std::size_t step);
  void note_values(std::uint32_t cell_batch);

  RunState& run_;
  std::span<const std::uint32_t> cells_, last_reads_;
  const CellType& type_;
  std::size_t first_batch_ = run_.batches.size();
  const void*** ports_ = nullptr;  ///< by port: a place for each cell
};

// If a step fails, those before it are batches whose nodes have no values.
void CellForward::run_steps() {
  find_ports();
  const Arena::Mark lists = run_.lists.mark();
  for (std::size_t step = 0; step < type_.steps.size(); ++step) {
    run_step(type_.steps[step]);
    if (run_.options.inference) run_.lists.rewind(lists);  // only backward reads them later
    if (!last_reads_.empty()) give_back_read(step);
  }
}

void CellForward::run() {
  double seconds = 0;
  {
    TimelineScope scope(run_.track(), run_.common.label_of_cell(run_.cells.all[cells_[0]].type));
    scope.count(cells_.size(), cells_.size() * type_.pattern.size());
    const KernelTime time(run_, seconds);
    run_steps();
  }
  make_room(run_.cells.batches);
  CellBatch batch;
  batch.type = run_.cells.all[cells_[0]].type;
  batch.first_cell = static_cast<std::uint32_t>(run_.cells.order.size());
  batch.cells = count();
  batch.first_batch = static_cast<std::uint32_t>(first_batch_);
  run_.cells.order.insert(run_.cells.order.end(), cells_.begin(), cells_.end());
  CellCount& counts = run_.counts.cell(batch.type);
  note_values(static_cast<std::uint32_t>(run_.cells.batches.size()));
  run_.cells.batches.push_back(batch);
  counts.cells += batch.cells;
  counts.seconds += seconds;
  ++counts.batches;
}

// Cells lie anywhere: what they need is asked for early.
void CellForward::find_ports() {
  const std::uint32_t ports = type_.pattern.ports;
  const std::size_t element = size_of(run_.types()[type_.pattern.members[0]].signature.dtype);
  ports_ = run_.lists.allocate_array<const void**>(ports);
  for (std::uint32_t p = 0; p < ports; ++p) {
    ports_[p] = run_.lists.allocate_array<const void*>(cells_.size());
  }
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const Cell& cell = run_.cells.all[cells_[c]];
    const TapeState& tape = run_.tapes[cell.tape];
    const ValueId* const ids = run_.cells.ports.data() + cell.first_port;
    for (std::uint32_t p = 0; p < ports; ++p) {
      const Value& value = tape.tape->value(ids[p]);
      ports_[p][c] = tape.nodes[value.node].value + value.offset * element;
    }
  }
}

std::uint32_t CellForward::list_members(const CellStep& step) {
  const auto first_member = static_cast<std::uint32_t>(run_.members.size());
  run_.members.resize(first_member + items_of(step));
  NodeRef* ref = run_.members.data() + first_member;
  for (std::uint16_t m : step.members) {
    for (std::uint32_t c : cells_) {
      const Cell& cell = run_.cells.all[c];
      *ref++ = {cell.tape, run_.cells.nodes[cell.first_node + m]};
    }
  }
  return first_member;
}

void CellForward::run_step(const CellStep& step) {
  const NodeType& type = run_.types()[step.type];
  const std::uint32_t first_member = list_members(step);
  Batch batch = make_batch(run_, step.type, items_of(step), items_of(step), false);
  batch.first_member = first_member;
  auto* inputs = run_.lists.allocate_array<Operand>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) inputs[j] = operand(step, type, j);
  batch.inputs = inputs;
  run_kernel(run_, batch);
}

Operand CellForward::operand(const CellStep& step, const NodeType& type, unsigned j) {
  const auto input_of = [&](std::uint16_t member) -> const CellInput& {
    return type_.pattern.inputs_of(member)[j];
  };
  const CellInput& first = input_of(step.members[0]);
  if (type.signature.shared[j] != 0) {
    return packed_operand(run_, type, example_of(step), j, items_of(step));
  }
  if (step.members.size() == 1 && first.from == From::port) return {ports_[first.index], nullptr};
  auto** all = run_.lists.allocate_array<const void*>(step.members.size() * cells_.size());
  auto** next = all;
  for (std::uint16_t m : step.members) {
    next = copy_places(input_of(m), size_of(type.signature.dtype), next);
  }
  return {all, nullptr};
}

// Where the cells have what an input reads.
const void** CellForward::copy_places(const CellInput& input, std::size_t element,
                                      const void** to) const {
  if (input.from == From::port) return std::copy_n(ports_[input.index], cells_.size(), to);
  const CellMember& source = type_.members[input.index];
  const Batch& batch = batch_of(source);
  const std::byte* place =
      batch.out + source.place * cells_.size() * batch.stride + input.offset * element;
  for (std::size_t c = 0; c < cells_.size(); ++c, place += batch.stride) *to++ = place;
  return to;
}

// What this step was the last to read.
void CellForward::give_back_read(std::size_t step) {
  for (std::size_t s = 0; s <= step; ++s) {
    if (type_.steps[s].last_reader != step || last_reads_[s] != 0) continue;
    Batch& batch = run_.batches[first_batch_ + s];
    run_.values.give_back(batch.out, batch.out_bytes);
    batch.out = nullptr;
  }
}

void CellForward::note_values(std::uint32_t cell_batch) {
  const std::size_t size = type_.pattern.size();
  std::vector<NodeState> first(size);  // of the first cell
  std::vector<std::size_t> stride(size);
  for (std::size_t m = 0; m < size; ++m) {
    const Batch& batch = batch_of(type_.members[m]);
    first[m].batch = static_cast<std::uint32_t>(first_batch_ + type_.members[m].step);
    if (batch.out == nullptr) continue;  // given back
    stride[m] = batch.stride;
    first[m].value = batch.out + type_.members[m].place * cells_.size() * batch.stride;
  }
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    Cell& cell = run_.cells.all[cells_[c]];
    cell.batch = cell_batch;
    cell.place = static_cast<std::uint32_t>(c);
    NodeState* const states = run_.tapes[cell.tape].nodes.data();
    const NodeId* const nodes = run_.cells.nodes.data() + cell.first_node;
    for (std::size_t m = 0; m < size; ++m) {
      states[nodes[m]] = first[m];
      first[m].value += stride[m];
    }
  }
  for (std::size_t s = 0; s < type_.steps.size(); ++s) {
    run_.batches[first_batch_ + s].cells = cell_batch;
  }
}

}  // namespace

void run_cells(RunState& run, std::span<const std::uint32_t> cells,
               std::span<const std::uint32_t> last_reads) {
  CellForward(run, cells, last_reads).run();
}

}  // namespace dynet_like::detail
