// Finds types with narrow batches, and computes their early products.
#include "dynet_like/exec/early_nodes.h"

#include <algorithm>

#include "dynet_like/exec/run_batch.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

void EarlyNodes::begin(const batching::Schedule& schedule, std::span<const NodeRef> nodes,
                       std::span<const std::uint32_t> types, std::span<const std::uint32_t> met) {
  types_.assign(met.size(), {});
  nodes_.clear();
  if (!run_.common.is_on_cpu()) return;
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    OfType& of = types_[types[schedule.batch(b)[0]]];
    of.nodes += schedule.batch(b).size();
    ++of.batches;
  }
  std::size_t first = 0;
  for (std::size_t t = 0; t < met.size(); ++t) {
    OfType& of = types_[t];
    if (!may_be_early(of, met[t])) of.nodes = 0;
    of.first = of.next = first;
    first += of.nodes;
  }
  if (first == 0) return;
  nodes_.resize(first);
  for (const std::uint32_t index : schedule.nodes) {
    OfType& of = types_[types[index]];
    if (of.nodes > 0) nodes_[of.next++] = nodes[index];
  }
  for (OfType& of : types_) of.next = of.first;
}

bool EarlyNodes::may_be_early(const OfType& of, std::uint32_t type) const {
  return run_.types()[type].op->early != nullptr && is_narrow(of.nodes, of.batches);
}

EarlySums EarlyNodes::next(std::uint32_t type, std::size_t nodes) {
  OfType& of = types_[type];
  if (of.nodes == 0) return {};
  if (of.next == of.first) compute(of);
  EarlySums sums = of.sums;
  if (sums.first != nullptr) sums.first += (of.next - of.first) * of.bytes;
  of.next += nodes;
  return sums;
}

void EarlyNodes::compute(OfType& of) {
  const std::span<const NodeRef> nodes = std::span(nodes_).subspan(of.first, of.nodes);
  const Signature& type = run_.tape(nodes[0]).type_of(nodes[0].node).signature;
  of.sums.products = type.op->early(type, ready_inputs(nodes));
  if (of.sums.products.inputs == 0) return;
  of.bytes = of.sums.products.size * size_of(type.dtype);
  of.sums.first = run_.values.allocate(nodes.size() * of.bytes);
  run_early_products(run_, nodes, of.sums);
}

// None if some node has several minibatch elements.
std::uint64_t EarlyNodes::ready_inputs(std::span<const NodeRef> nodes) const {
  std::uint64_t ready = ~std::uint64_t{0};
  for (const NodeRef ref : nodes) {
    if (run_.items_of(ref) != 1) return 0;
    const Tape& tape = run_.tape(ref);
    const std::span<const ValueId> inputs = tape.inputs_of(ref.node);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const NodeRef producer{ref.tape, tape.value(inputs[j]).node};
      if (run_.state(producer).value == nullptr) ready &= ~(std::uint64_t{1} << j);
    }
  }
  return ready;
}

void EarlyNodes::end() {
  for (const OfType& of : types_) {
    if (of.sums.first != nullptr) run_.values.give_back(of.sums.first, of.nodes * of.bytes);
  }
}

}  // namespace dynet_like::detail
