// The profile of a process: the work of its graphs, by operation.
#include "dynet_like/compat/profile.h"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "dynet/globals.h"
#include "dynet_like/core/counted.h"

namespace dynet {

namespace {

struct Work {
  std::uint64_t nodes = 0, batches = 0, calls = 0;
};

struct Profile {
  std::mutex mutex;
  std::map<std::string, Work> by_operation;
  std::uint64_t graphs = 0;
  double plan_seconds = 0, kernel_seconds = 0;
};

// Never destroyed, because graphs may live as long as the process.
Profile& profile() {
  static auto* const profile = [] {
    std::atexit(detail::print_profile);
    return new Profile;
  }();
  return *profile;
}

}  // namespace

void detail::add_to_profile(const dynet_like::Report& report) {
  Profile& all = profile();
  const std::lock_guard lock(all.mutex);
  ++all.graphs;
  all.plan_seconds += report.plan_seconds;
  all.kernel_seconds += report.kernel_seconds;
  for (const dynet_like::Report::Type& type : report.types) {
    Work& work = all.by_operation[type.op];
    work.nodes += type.nodes;
    work.batches += type.batches;
    work.calls += type.forward_calls + type.backward_calls;
  }
  if (profiling_flag > 1) std::cerr << report;
}

void detail::print_profile() {
  Profile& all = profile();
  const std::lock_guard lock(all.mutex);
  if (all.graphs == 0) return;
  std::vector<std::pair<std::string, Work>> rows(all.by_operation.begin(), all.by_operation.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.nodes > b.second.nodes; });
  std::cerr << "profile of " << dynet_like::detail::counted(all.graphs, "graph") << ": "
            << all.kernel_seconds << " seconds in kernels, " << all.plan_seconds << " in planning\n"
            << std::left << std::setw(24) << "operation" << std::right << std::setw(12) << "nodes"
            << std::setw(12) << "batches" << std::setw(12) << "calls" << '\n';
  for (const auto& [operation, work] : rows) {
    std::cerr << std::left << std::setw(24) << operation << std::right << std::setw(12)
              << work.nodes << std::setw(12) << work.batches << std::setw(12) << work.calls << '\n';
  }
  all.by_operation.clear();
  all.graphs = 0;
  all.plan_seconds = all.kernel_seconds = 0;
}

}  // namespace dynet
