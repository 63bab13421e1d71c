// A report as JSON.
#include <nlohmann/json.hpp>

#include "dynet_like/report/report.h"

namespace dynet_like {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Report::Type& type) {
  return {{"op", type.op},
          {"shapes", type.shapes},
          {"nodes", type.nodes},
          {"batches", type.batches},
          {"bound", type.bound},
          {"forward_calls", type.forward_calls},
          {"backward_calls", type.backward_calls},
          {"value_bytes", type.value_bytes},
          {"runs_on_cpu", type.runs_on_cpu},
          {"seconds", type.seconds},
          {"program", type.program}};
}

Json json_of(const Report::MissedMerge& merge) {
  return {{"op", merge.op},
          {"label", merge.label},
          {"field", merge.field},
          {"difference", merge.difference},
          {"places", merge.places},
          {"advice", merge.advice},
          {"types", merge.types},
          {"nodes", merge.nodes},
          {"batches", merge.batches},
          {"saved_batches", merge.saved_batches},
          {"saved_calls", merge.saved_calls},
          {"seconds", merge.seconds},
          {"saved_seconds", merge.saved_seconds}};
}

Json json_of(const Report::Wave& wave) {
  return {{"samples", wave.samples}, {"nodes", wave.nodes}, {"batches", wave.batches}};
}

template <class T>
Json list_of(const std::vector<T>& rows) {
  Json list = Json::array();
  for (const T& row : rows) list.push_back(json_of(row));
  return list;
}

}  // namespace

std::string Report::json() const {
  const Json all = {{"types", list_of(types)},
                    {"missed_merges", list_of(missed_merges)},
                    {"nodes", nodes},
                    {"batches", batches},
                    {"kernel_calls", kernel_calls},
                    {"bound", bound},
                    {"recomputed", recomputed},
                    {"waves", list_of(waves)},
                    {"wave_count", wave_count},
                    {"copied_bytes", copied_bytes},
                    {"value_bytes", value_bytes},
                    {"gradient_bytes", gradient_bytes},
                    {"peak_bytes", peak_bytes},
                    {"product_flops", product_flops},
                    {"plan_seconds", plan_seconds},
                    {"kernel_seconds", kernel_seconds},
                    {"other_seconds", other_seconds}};
  // Labels are the user's. Bytes that are not UTF-8 are replaced.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace dynet_like
