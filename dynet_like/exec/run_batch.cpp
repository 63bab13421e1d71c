// Runs one batch forward: gathers the lists for the kernel, and calls it once.
#include <utility>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/recursion.h"
#include "dynet_like/exec/run_batch.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

namespace {

// The data of nodes are scattered in memory, so they are prefetched.
void find_inputs(RunState& run, const NodeType& type, const Batch& batch) {
  run.node_inputs.clear();
  for (NodeRef ref : run.nodes_of(batch)) {
    const TapeLists& tape = run.tape_lists[ref.tape];
    const ValueId* ids = tape.edges + tape.nodes[ref.node].first_edge;
    __builtin_prefetch(ids);
    run.node_inputs.push_back({ids, &tape});
  }
  for (const NodeInputs& node : run.node_inputs) {
    for (unsigned j = 0; j < type.inputs; ++j) __builtin_prefetch(&node.value(j));
  }
}

// Input j, which all items share.
Operand shared_operand(RunState& run, const Batch& batch, unsigned j, SharedArgument& argument) {
  const NodeRef example = run.nodes_of(batch)[0];
  const Tape& tape = run.tape(example);
  const Value& value = tape.value(tape.inputs_of(example.node)[j]);
  const NodeRef producer{example.tape, value.node};
  argument = {run.identity_of(producer), value.offset, value.reaches_parameter};
  Operand operand{nullptr, run.state(producer).value + value.offset * batch.element()};
  operand.packed = packed_matrix(run, *batch.type, j, argument, batch.items);
  return operand;
}

// The places of the items of input j.
Operand gather(RunState& run, const Batch& batch, unsigned j, Arena& lists) {
  const std::size_t element = batch.element();
  const std::span<const NodeRef> nodes = run.nodes_of(batch);
  const void** items = lists.allocate_array<const void*>(batch.items);
  const void** next = items;
  if (batch.items == batch.nodes) {
    for (const NodeInputs& node : run.node_inputs) *next++ = node.place(j, element);
    return {items, nullptr};
  }
  for (std::size_t m = 0; m < nodes.size(); ++m) {
    const Value& value = run.node_inputs[m].value(j);
    const std::byte* place = run.node_inputs[m].place(j, element);
    const std::uint32_t count = run.items_of(nodes[m]);
    const std::size_t stride = value.items == 1 ? 0 : value.stride * element;
    for (std::uint32_t item = 0; item < count; ++item) *next++ = place + item * stride;
  }
  return {items, nullptr};
}

const std::uint32_t* gather_integers(RunState& run, const NodeType& type, const Batch& batch,
                                     Arena& lists) {
  if (type.signature.integers == 0) return nullptr;
  auto* all = lists.allocate_array<std::uint32_t>(batch.items * type.signature.integers);
  auto* next = all;
  for (NodeRef ref : run.nodes_of(batch)) {
    run.tapes()[ref.tape].tape->read_later_integers(ref.node);
    for (std::uint32_t integer : run.tape(ref).integers_of(ref.node)) *next++ = integer;
  }
  return all;
}

template <class T>
const void* gather_reals(const RunState& run, const NodeType& type, const Batch& batch,
                         Arena& lists) {
  T* all = lists.allocate_array<T>(batch.items * type.op->numbers.reals);
  T* next = all;
  for (NodeRef ref : run.nodes_of(batch)) {
    const std::size_t count = run.items_of(ref) * type.op->numbers.reals;
    for (std::size_t i = 0; i < count; ++i) {
      *next++ = static_cast<T>(run.tape(ref).real_of(ref.node, i));
    }
  }
  return all;
}

// Brings rows up to date whose updates a trainer has postponed, before they are read.
void refresh_tables(const RunState& run, const NodeType& type, const Batch& batch) {
  if (!run.common.parameters.has_lazy_tables()) return;
  for (NodeRef ref : run.nodes_of(batch)) {
    const Tape& tape = run.tape(ref);
    for (ValueId input : tape.inputs_of(ref.node)) {
      const NodeId producer = tape.value(input).node;
      if (tape.type_of(producer).op->role != Role::table) continue;
      RowRefresher* refresher = tape.storage_of(producer).refresher.get();
      if (refresher == nullptr) continue;
      if (type.op->role == Role::row) {  // all nodes have the same table
        return refresher->refresh(std::span(batch.integers, batch.items));
      }
      refresher->refresh_all();
    }
  }
}

TypeCount& counts_of(RunState& run, const Batch& batch) {
  return run.counts.type(batch.type->id, run.types().type_count());
}

void count(RunState& run, const Batch& batch) {
  TypeCount& counts = counts_of(run, batch);
  counts.nodes += batch.nodes;
  counts.items += batch.items;
  ++counts.batches;
  ++run.counts.batches;
  if (batch.type->op->role == Role::copy) run.counts.copied_bytes += batch.out_bytes;
}

// Gives its nodes their values.
void note_values(RunState& run, const Batch& batch) {
  const std::size_t bytes = batch.stride();
  const bool single = batch.items == batch.nodes;
  const auto index = static_cast<std::uint32_t>(run.batches.size() - 1);
  std::byte* value = batch.out;
  for (NodeRef ref : run.nodes_of(batch)) {
    run.state(ref) = {value, index};
    if (batch.shared) {
      SharedValue& known = run.shared()[run.identity_of(ref)];
      known.value = value;
      known.batch = index;
      known.pending = false;
    }
    value += (single ? 1 : run.items_of(ref)) * bytes;
  }
}

// If a check fails, the nodes have no values: a later request computes and checks them again.
void enter(RunState& run, const Batch& batch) {
  count(run, batch);
  const bool is_recursion = batch.type->op->role == Role::recursion;
  if (run.options().verify_batching && batch.items > 1) {
    is_recursion ? verify_recursions(run, batch) : verify_forward(run, batch);
  }
  if (run.options().detect_anomaly) check_values(run, batch);
  run.batches.push_back(batch);
  run.batches.back().early = {};
  run.note_held();
}

// The type of all nodes; of a recursion that has met more kinds of vertices meanwhile, the last.
const NodeType& type_of(const RunState& run, std::span<const NodeRef> nodes) {
  const NodeType* type = &run.tape(nodes[0]).type_of(nodes[0].node);
  if (type->op->role != Role::recursion) return *type;
  for (NodeRef ref : nodes.subspan(1)) {
    const NodeType& other = run.tape(ref).type_of(ref.node);
    if (recursion_of(other.signature).programs.size() >
        recursion_of(type->signature).programs.size()) {
      type = &other;
    }
  }
  return *type;
}

// Makes a batch, with memory for its outputs.
Batch make_batch(RunState& run, std::span<const NodeRef> nodes, bool shared) {
  Batch batch;
  batch.first_node = static_cast<std::uint32_t>(run.nodes.size());
  run.nodes.insert(run.nodes.end(), nodes.begin(), nodes.end());
  batch.type = &type_of(run, nodes);
  batch.nodes = batch.left = static_cast<std::uint32_t>(nodes.size());
  for (NodeRef ref : nodes) batch.items += run.items_of(ref);
  batch.shared = shared;
  batch.pass = run.common.passes;
  const auto allocate = [&](std::size_t bytes) {
    return shared ? run.common.shared_values.allocate_array<std::byte>(bytes)
                  : run.values.allocate(bytes);
  };
  batch.out_bytes = batch.items * batch.stride();
  batch.out = allocate(batch.out_bytes);
  // Without a backward pass the library's own kernels save nothing; those of users may save always.
  const bool keeps_saved = !run.options().inference || batch.type->op->kernels != nullptr;
  if (batch.saved_stride() > 0 && keeps_saved) {
    batch.saved = allocate(batch.items * batch.saved_stride());
  }
  return batch;
}

// `only`: leave out inputs of other products.
void list_inputs(RunState& run, Batch& batch, Arena& lists, const EarlySums* only = nullptr) {
  const NodeType& type = *batch.type;
  batch.kernels = &run.kernels(type);
  find_inputs(run, type, batch);
  auto* const in = lists.allocate_array<Operand>(type.inputs);
  auto* const arguments = lists.allocate_array<SharedArgument>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (type.signature.shared[j] != 0) {
      in[j] = shared_operand(run, batch, j, arguments[j]);
    } else if (only == nullptr || only->have(j)) {
      in[j] = gather(run, batch, j, lists);
    }
  }
  batch.in = in;
  batch.arguments = arguments;
  batch.integers = gather_integers(run, type, batch, lists);
  if (type.op->numbers.reals == 0) return;
  batch.reals = type.signature.dtype == DType::f32 ? gather_reals<float>(run, type, batch, lists)
                                                   : gather_reals<double>(run, type, batch, lists);
}

void run_kernel(RunState& run, Batch& batch) {
  refresh_tables(run, *batch.type, batch);
  forward_rows(run, batch, counts_of(run, batch), batch.nodes);
  // Without a backward pass nobody reads the saved items.
  if (run.options().inference && batch.saved != nullptr && !batch.shared) {
    run.values.give_back(std::exchange(batch.saved, nullptr), batch.items * batch.saved_stride());
  }
}

// A recursion runs programs instead of a kernel.
void run_programs(RunState& run, Batch& batch) {
  counts_of(run, batch);
  TimelineScope scope(run.track(), TimelineSpan::recursion);
  scope.count(batch.nodes);
  batch.recursion = run_recursion(run, batch, run.nodes_of(batch));
  if (!run.options().inference) return;
  give_back(run, *batch.recursion);
  batch.recursion.reset();
}

}  // namespace

void run_batch(RunState& run, std::span<const NodeRef> nodes, bool shared, const EarlySums& early) {
  Batch batch = make_batch(run, nodes, shared);
  batch.early = early;
  if (batch.type->op->role == Role::recursion) {
    run_programs(run, batch);
  } else {
    list_inputs(run, batch, shared ? run.common.shared_lists : run.lists);
    run_kernel(run, batch);
  }
  enter(run, batch);
  note_values(run, batch);
}

void run_early_products(RunState& run, std::span<const NodeRef> nodes, const EarlySums& early) {
  Batch batch;
  batch.first_node = static_cast<std::uint32_t>(run.nodes.size());
  batch.type = &run.tape(nodes[0]).type_of(nodes[0].node);
  batch.nodes = batch.items = static_cast<std::uint32_t>(nodes.size());
  batch.early = early;
  run.nodes.insert(run.nodes.end(), nodes.begin(), nodes.end());
  list_inputs(run, batch, run.lists, &early);
  refresh_tables(run, *batch.type, batch);
  run.nodes.resize(batch.first_node);
  forward_early(run, batch, counts_of(run, batch));
}

}  // namespace dynet_like::detail
