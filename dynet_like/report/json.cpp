// A report as JSON: the members of its structs, by their names.
#include <nlohmann/json.hpp>

#include "dynet_like/report/report.h"

namespace dynet_like {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report::Type, op, shapes, nodes, batches, bound, forward_calls,
                                   backward_calls, value_bytes, runs_on_cpu, seconds, program)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report::MissedMerge, op, label, field, difference, places,
                                   advice, types, nodes, batches, saved_batches, saved_calls,
                                   seconds, saved_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report::Wave, samples, nodes, batches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, types, missed_merges, nodes, batches, kernel_calls,
                                   bound, recomputed, waves, wave_count, copied_bytes, value_bytes,
                                   gradient_bytes, peak_bytes, product_flops, plan_seconds,
                                   kernel_seconds, other_seconds)

std::string Report::json() const {
  // Labels are the user's. Bytes that are not UTF-8 are replaced.
  return nlohmann::json(*this).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace dynet_like
