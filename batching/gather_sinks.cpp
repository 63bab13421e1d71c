// Moves nodes that no others wait for to the end, in one batch per type.
#include <algorithm>
#include <numeric>

#include "batching/policies.h"

namespace dynet_like::batching {
namespace {

/// Types that cannot follow themselves and that only such types read: output layers, losses.
void find_sinks(const TypeCycles& cycles, SinkScratch& sinks) {
  const std::size_t types = cycles.cycle.size();
  sinks.order.resize(types);
  std::iota(sinks.order.begin(), sinks.order.end(), 0u);
  std::sort(sinks.order.begin(), sinks.order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return cycles.stage[a] < cycles.stage[b]; });
  sinks.is_sink.assign(types, 0);
  for (std::size_t i = types; i-- > 0;) {
    const std::uint32_t type = sinks.order[i];
    if (cycles.cycle[type] != TypeCycles::none) continue;
    const auto row = cycles.target.begin() + cycles.first_edge[type];
    const auto row_end = cycles.target.begin() + cycles.first_edge[type + 1];
    sinks.is_sink[type] =
        std::all_of(row, row_end, [&](std::uint32_t reader) { return sinks.is_sink[reader] != 0; });
  }
}

}  // namespace

void gather_sinks(const Dag& dag, Scratch& scratch, Schedule& schedule) {
  SinkScratch& sinks = scratch.sinks;
  find_sinks(scratch.cycles, sinks);
  // Per type, the place of its next node if it is a sink: sinks come after all other nodes.
  std::size_t others = 0;
  for (std::size_t type = 0; type < dag.type_count; ++type) {
    if (sinks.is_sink[type] == 0) others += scratch.survey.members[type];
  }
  sinks.next.resize(dag.type_count);
  std::size_t end = others;
  for (const std::uint32_t type : sinks.order) {
    if (sinks.is_sink[type] == 0) continue;
    sinks.next[type] = static_cast<std::uint32_t>(end);
    end += scratch.survey.members[type];
  }
  Schedule& gathered = scratch.alternative;
  gathered.nodes.resize(dag.size());
  gathered.begin.assign(1, 0);
  std::uint32_t placed = 0;
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    const std::span<const std::uint32_t> batch = schedule.batch(b);
    const std::uint32_t type = dag.type[batch[0]];
    const bool is_sink = sinks.is_sink[type] != 0;
    std::uint32_t& at = is_sink ? sinks.next[type] : placed;
    std::copy(batch.begin(), batch.end(), gathered.nodes.begin() + at);
    at += static_cast<std::uint32_t>(batch.size());
    if (!is_sink) gathered.begin.push_back(placed);
  }
  for (const std::uint32_t type : sinks.order) {
    if (sinks.is_sink[type] != 0 && scratch.survey.members[type] > 0) {
      gathered.begin.push_back(sinks.next[type]);
    }
  }
  gathered.bound = schedule.bound;
  std::swap(gathered, schedule);
}

}  // namespace dynet_like::batching
