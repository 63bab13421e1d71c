// Checks a schedule against its graph.
#include "batching/validate.h"

#include <cstdint>
#include <vector>

namespace dynet_like::batching {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

std::string text(std::size_t number) { return std::to_string(number); }

std::string fault_of_shape(const Dag& dag, const Schedule& schedule) {
  const auto& begin = schedule.begin;
  if (schedule.nodes.size() != dag.size()) {
    return "need " + text(dag.size()) + " scheduled nodes; got " + text(schedule.nodes.size());
  }
  if (begin.empty() || begin.front() != 0 || begin.back() != schedule.nodes.size()) {
    const std::string got =
        begin.empty() ? "none" : text(begin.front()) + " to " + text(begin.back());
    return "need batch limits from 0 to " + text(schedule.nodes.size()) + "; got " + got;
  }
  for (std::size_t b = 0; b < schedule.size(); ++b) {
    if (begin[b] >= begin[b + 1]) {
      return "batch " + text(b) + " is empty or reversed: it goes from " + text(begin[b]) + " to " +
             text(begin[b + 1]);
    }
  }
  return "";
}

/// Sets the batch of every node in `batch_of`.
std::string fault_of_members(const Dag& dag, const Schedule& schedule,
                             std::vector<std::uint32_t>& batch_of) {
  for (std::uint32_t b = 0; b < schedule.size(); ++b) {
    const auto batch = schedule.batch(b);
    for (const std::uint32_t v : batch) {
      if (v >= dag.size()) {
        return "batch " + text(b) + " has node " + text(v) + " of a graph with " +
               text(dag.size()) + " nodes";
      }
      if (batch_of[v] != nowhere) {
        return "node " + text(v) + " is in batch " + text(batch_of[v]) + " and again in batch " +
               text(b);
      }
      batch_of[v] = b;
      if (dag.type[v] != dag.type[batch[0]]) {
        return "batch " + text(b) + " mixes node " + text(batch[0]) + " of type " +
               text(dag.type[batch[0]]) + " with node " + text(v) + " of type " + text(dag.type[v]);
      }
    }
  }
  return "";
}

}  // namespace

std::string first_fault(const Dag& dag, const Schedule& schedule) {
  if (std::string fault = fault_of_shape(dag, schedule); !fault.empty()) return fault;
  // The counts agree, every entry is a node, and none is twice: so all nodes are scheduled.
  std::vector<std::uint32_t> batch_of(dag.size(), nowhere);
  if (std::string fault = fault_of_members(dag, schedule, batch_of); !fault.empty()) return fault;
  for (const std::uint32_t v : schedule.nodes) {
    for (const std::uint32_t u : dag.inputs_of(v)) {
      if (batch_of[u] >= batch_of[v]) {
        return "node " + text(v) + " in batch " + text(batch_of[v]) + " needs node " + text(u) +
               ", which is in batch " + text(batch_of[u]);
      }
    }
  }
  return "";
}

}  // namespace dynet_like::batching
