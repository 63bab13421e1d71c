// Finding types whose nodes ran in more batches than necessary, because of depths or of calls.
#include <algorithm>
#include <set>

#include "dynet_like/core/counted.h"
#include "dynet_like/report/splits.h"

namespace dynet_like::detail {

namespace {

using Calls = std::set<std::uint64_t>;

// When and where nodes of a type ran.
struct Ran {
  Calls calls, of_sample;  ///< calls that ran some of the nodes; those of the last sample
  std::uint32_t last_sample = kNone;
  std::size_t most = 0;  ///< the most calls for one sample
  std::set<std::uint32_t> depths;

  void add(std::uint32_t sample, std::uint64_t call) {
    if (last_sample != sample) of_sample.clear();
    last_sample = sample;
    of_sample.insert(call);
    most = std::max(most, of_sample.size());
    calls.insert(call);
  }
};

void look_at(const RunState& run, const std::vector<bool>& wanted, std::vector<Ran>& types) {
  std::vector<std::uint32_t> depth;
  for (std::uint32_t t = run.first_tape; t < run.end_tape; ++t) {
    const TapeState& state = run.tapes()[t];
    const Tape& tape = *state.tape;
    depth.assign(state.nodes.size(), 0);
    for (NodeId node = 0; node < state.nodes.size(); ++node) {
      for (ValueId input : tape.inputs_of(node)) {
        depth[node] = std::max(depth[node], depth[tape.value(input).node] + 1);
      }
      if (!state.nodes[node].has_batch() || !wanted[tape.node(node).type] ||
          tape.value(tape.node(node).value).identity != 0) {
        continue;
      }
      const Batch& batch = run.batches[state.nodes[node].batch];
      Ran& ran = types[tape.node(node).type];
      ran.add(t, batch.pass);
      ran.depths.insert(depth[node]);
    }
  }
}

std::string words_of(const std::set<std::uint32_t>& depths) {
  std::vector<std::string> values;
  for (std::uint32_t depth : depths) values.push_back(std::to_string(depth));
  return "the depth is " + listed(std::move(values));
}

}  // namespace

std::vector<Split> find_delays(std::span<const RunState* const> runs, const Recorded& recorded,
                               std::span<const TypeCount> counts,
                               std::span<const std::uint64_t> bounds) {
  std::vector<Split> delays;
  const GraphOptions& options = runs[0]->options();
  if (recorded.samples < 2 || options.policy == batching::Policy::none) return delays;
  std::vector<bool> may_be(counts.size());
  for (TypeId type = 0; type < counts.size(); ++type) {
    may_be[type] = counts[type].nodes > 0 && counts[type].batches >= 2 * bounds[type];
  }
  if (std::ranges::find(may_be, true) == may_be.end()) return delays;
  std::vector<Ran> all(counts.size());
  std::vector<std::uint64_t> calls(counts.size()), needed(counts.size());
  for (const RunState* run : runs) {
    std::vector<Ran> types(counts.size());
    look_at(*run, may_be, types);
    for (TypeId type = 0; type < types.size(); ++type) {
      calls[type] += types[type].calls.size();
      needed[type] += types[type].most;
      all[type].depths.merge(types[type].depths);
    }
  }
  for (TypeId type = 0; type < counts.size(); ++type) {
    if (needed[type] == 0) continue;  // depends on parameters alone
    const std::uint64_t bound = std::max(bounds[type], needed[type]);
    if (counts[type].batches < 2 * bound) continue;
    if (calls[type] >= 2 * needed[type]) {
      delays.push_back({Difference::call,
                        {type},
                        0,
                        "values were asked for in " + counted(calls[type], "call") +
                            ", but no sample needs more than " + std::to_string(needed[type]),
                        bound});
    } else if (all[type].depths.size() > 1) {
      delays.push_back({Difference::depth, {type}, 0, words_of(all[type].depths), bound});
    }
  }
  return delays;
}

}  // namespace dynet_like::detail
