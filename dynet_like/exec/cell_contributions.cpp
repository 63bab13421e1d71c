// Describing, listing and collecting contributions of cells to shared values.
#include "dynet_like/exec/cell_contributions.h"

#include <algorithm>

namespace dynet_like::detail {

namespace {

using From = CellInput::From;

}  // namespace

void CellContributions::begin() {
  types_.assign(run_.common.dictionary.size(), {});
  batches_.assign(run_.cells.batches.size(), {});
  listed_.clear();
}

const CellContributions::OfType& CellContributions::of_type(const Cell& example) {
  OfType& facts = types_[example.type];
  if (facts.known) return facts;
  facts.known = true;
  const CellType& type = run_.common.dictionary[example.type];
  for (std::uint16_t m = 0; m < type.pattern.size(); ++m) describe(example, m, facts);
  facts.together = facts.apart;
  std::erase_if(facts.together, [](const Contribution& c) { return c.of_port; });
  return facts;
}

// Input by input, those of ports between those that the type names.
void CellContributions::describe(const Cell& example, std::uint16_t m, OfType& facts) {
  const CellType& type = run_.common.dictionary[example.type];
  const Signature& signature = run_.types()[type.pattern.members[m]].signature;
  Contribution contribution;
  contribution.member = m;
  contribution.step = type.members[m].step;
  contribution.place = type.members[m].place;
  contribution.is_deferred = signature.deferred_size > 0;
  contribution.integers = signature.integers;
  contribution.deferred_bytes = signature.deferred_size * size_of(signature.dtype);
  const SharedContributions::TypeContributions& of_nodes =
      pass_.contributions.of_type(member_of(example, m));
  contribution.is_complete = of_nodes.complete;
  if (!of_nodes.complete) return facts.apart.push_back(contribution);
  auto next = of_nodes.all.begin();
  const std::span<const CellInput> inputs = type.pattern.inputs_of(m);
  for (std::uint32_t j = 0; j < inputs.size(); ++j) {
    contribution.of_port = inputs[j].from == From::port;
    if (contribution.of_port) {
      contribution.what.input = j;
    } else if (next != of_nodes.all.end() && next->input == j) {
      contribution.what = *next++;
    } else {
      continue;
    }
    facts.apart.push_back(contribution);
  }
}

void CellContributions::list(std::uint32_t index, std::span<const std::uint32_t> whole_cells) {
  const CellBatch& cells = run_.cells.batches[index];
  const std::span<const std::uint32_t> all = run_.cells.cells_of(cells);
  const OfType& facts = of_type(run_.cells.all[all[0]]);
  const bool any_apart = std::any_of(whole_cells.begin(), whole_cells.end(),
                                     [&](std::uint32_t c) { return is_apart(all[c]); });
  batches_[index].together = list(cells, facts.together);
  if (any_apart) batches_[index].apart = list(cells, facts.apart);
}

// Returns the place of the first.
std::uint32_t CellContributions::list(const CellBatch& cells, std::span<const Contribution> all) {
  const auto first = static_cast<std::uint32_t>(listed_.size());
  for (const Contribution& contribution : all) {
    const SharedContributions::TypeContribution& what = contribution.what;
    const std::uint32_t step = cells.first_batch + contribution.step;
    const std::size_t first_item = std::size_t{contribution.place} * cells.cells;
    const Batch& batch = run_.batches[step];
    OfBatch of_batch;
    of_batch.stride = contribution.is_deferred ? contribution.deferred_bytes : batch.stride;
    of_batch.dy = (contribution.is_deferred ? pass_.deferred_of(step) : pass_.gradients_of(step)) +
                  first_item * of_batch.stride;
    const bool is_known = contribution.is_complete && !contribution.of_port;
    if (is_known && what.place.kind == SharedGradient::outer_product) {
      of_batch.factor = batch.inputs[what.input + 1];
      if (of_batch.factor.items != nullptr) of_batch.factor.items += first_item;
    } else if (is_known && what.place.kind == SharedGradient::rows) {
      of_batch.rows = batch.integers + first_item * contribution.integers;
    }
    listed_.push_back(of_batch);
  }
  return first;
}

void CellContributions::contribute(std::uint32_t index, std::uint16_t member) {
  const Cell& cell = run_.cells.all[index];
  const OfType& facts = types_[cell.type];
  const bool apart = is_apart(index);
  const Lists& lists = batches_[cell.batch];
  const OfBatch* of_batch = listed_.data() + (apart ? lists.apart : lists.together);
  for (const Contribution& contribution : apart ? facts.apart : facts.together) {
    const OfBatch& all = *of_batch++;
    if (cell.others_between && contribution.member != member) continue;
    const std::byte* const dy = all.dy + cell.place * all.stride;
    const std::byte* const factor = all.factor.at<std::byte>(cell.place);
    if (contribution.of_port) {
      const bool reads_shared =
          (pass_.plan.cells.read_shared(index) >> contribution.member & 1) != 0;
      if (reads_shared)
        pass_.contribute(member_of(cell, contribution.member), contribution.what.input);
    } else if (!contribution.is_complete) {
      pass_.contribute(member_of(cell, contribution.member));
    } else {
      const std::size_t integer = std::size_t{cell.place} * contribution.integers;
      pass_.contributions.add(contribution.what, dy, factor,
                              all.rows == nullptr ? 0 : all.rows[integer]);
    }
  }
}

}  // namespace dynet_like::detail
